"""One file a command, each with one function of the command's name.

A module here imports rooms inside its function, so that `draftgate --help` imports none.
"""
