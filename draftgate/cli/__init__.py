"""The `draftgate` command line: a thin door, no logic of its own."""
