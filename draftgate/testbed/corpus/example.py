"""The one record of the corpus: a prompt and its only right answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """One training or evaluation example; plain ASCII, no chat markup."""

    workload: str
    prompt: str
    answer: str
