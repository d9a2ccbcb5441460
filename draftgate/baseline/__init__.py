"""Stored baselines: their schema, the store (the only writer) and the rules of updating."""
