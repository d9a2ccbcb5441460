"""The stage timer: where an engine step's time goes, by scopes inside vLLM's runner.

It runs in the worker's process, for the length of one round, and is not there otherwise.
"""
