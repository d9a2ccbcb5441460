"""The workload room's one exception."""


class WorkloadError(Exception):
    """Prompts that cannot be had; the message names workload, file or dataset, and the remedy."""
