"""The `Measurement` record with its pure metrics and identities, and the session that takes it."""
