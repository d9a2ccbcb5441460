"""The generated corpus of the tiny testbed models: six workloads and a copy drill."""

from draftgate.testbed.corpus.drill import copy_drill
from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.mixture import WORKLOADS, evaluation, is_held_out, sample, stream

__all__ = ["WORKLOADS", "Example", "copy_drill", "evaluation", "is_held_out", "sample", "stream"]
