"""The paper's six workloads as frozen prompts, from the hub, a file or the mini sets."""

from draftgate.workload.errors import WorkloadError
from draftgate.workload.frozen import FrozenWorkload, Prompt, freeze
from draftgate.workload.load import load_workload

__all__ = ["FrozenWorkload", "Prompt", "WorkloadError", "freeze", "load_workload"]
