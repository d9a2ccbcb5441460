"""Faults put back into the installed vLLM at run time: the measure of the suite's worth.

A mutant is an edit of vLLM's source (`edits`), applied in a process of its own and never on disk.
The catalogue is read from vLLM's issue history and from its code. Each mutant names the channel by
which the suite must kill it; the controls change the code but not what it computes, and must live.
"""
