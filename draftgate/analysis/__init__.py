"""The study's findings as pure functions over records and traces.

Simulator and offline replay: `open_trace` reads a file, `simulate` prices a policy on it, `replay`
runs a training-free proposer over its tokens. Modules are imported where they are used, so that
the command line starts fast.
"""
