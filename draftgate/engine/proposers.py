"""The proposer behind `draftgate.engine.drafts`, as vLLM's ``method="custom_class"`` loads it.

Interface of vLLM 0.31 and 0.32: the class takes a VllmConfig and has `load_model` and `propose`.
It runs in vLLM's worker; the plan of a round reaches it through vLLM's own `collective_rpc`, since
`ScriptedWorker` is mixed into the worker (``worker_extension_cls``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from draftgate.engine.drafts import DraftPlan, Recording

EMPTY = DraftPlan(rule="empty")


class ScriptedProposer:
    """Drafts what the plan in force says."""

    def __init__(self, vllm_config: Any) -> None:
        self._k = int(vllm_config.speculative_config.num_speculative_tokens)
        self._vocab = int(vllm_config.model_config.get_vocab_size())
        self.follow(EMPTY)

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to load."""

    def follow(self, plan: DraftPlan) -> None:
        """Draft by ``plan`` from now on."""
        self._plan = plan
        self._length = min(self._k, self._k if plan.length is None else plan.length)
        self._library = Library(plan.recordings)

    def propose(
        self,
        sampled_token_ids: list[list[int]],
        num_tokens_no_spec: npt.NDArray[np.integer[Any]],
        token_ids_cpu: npt.NDArray[np.integer[Any]],
        slot_mappings: Any = None,
    ) -> list[list[int]]:
        """A window for each row of the batch.

        ``token_ids_cpu[row, : num_tokens_no_spec[row]]`` is a request's prompt and output so far.
        A row that sampled nothing, in the middle of its prompt, gets no drafts.
        """
        if self._plan.rule == "empty":
            return [[] for _ in sampled_token_ids]
        return [
            self._window(row, token_ids_cpu[row, : int(num_tokens_no_spec[row])]) if sampled else []
            for row, sampled in enumerate(sampled_token_ids)
        ]

    def _window(self, row: int, tokens: npt.NDArray[np.integer[Any]]) -> list[int]:
        recording = self._library.find(row, tokens)
        if self._plan.rule == "oracle":
            return self._oracle(recording, len(tokens))
        luck = random.Random(f"{self._plan.seed}/{len(tokens)}/{tokens.sum()}")
        drafted, right = self._length, 0
        if self._plan.rule == "ragged":
            drafted = luck.randint(0, self._length)
            right = luck.randint(0, drafted)
        if recording is None:
            return [int(luck.choice(tokens)) for _ in range(drafted)]
        return self._deviating(_rest(recording, len(tokens)), drafted, right)

    def _oracle(self, recording: Recording | None, present: int) -> list[int]:
        if recording is None:
            return []
        rest = _rest(recording, present)
        if self._plan.padded:
            return self._deviating(rest, self._length, _limit(recording, present, self._length))
        # The output's last token is the bonus token of the step before it: drafting it as well
        # would only add to the verification.
        return list(rest[: min(_limit(recording, present, self._length), max(len(rest) - 1, 0))])

    def _deviating(self, rest: Sequence[int], drafted: int, right: int) -> list[int]:
        """``drafted`` tokens of ``rest``, the one after ``right`` of them replaced by another.

        What follows the wrong token is right again, as it must not be accepted. Past the end of
        the recording, behind an end-of-sequence token for example, stands token 1, 2, ...
        """
        window = [*rest[:drafted], *(1 + i % (self._vocab - 1) for i in range(drafted))][:drafted]
        if right < drafted:
            window[right] = (window[right] + 1) % self._vocab
        return window


class Library:
    """Finds the recording that a row of the batch is playing."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = recordings
        self._texts = [np.array((*r.prompt, *r.output), np.int32) for r in recordings]
        self._last: dict[int, int] = {}  # row -> the recording it played in the step before

    def find(self, row: int, tokens: npt.NDArray[np.integer[Any]]) -> Recording | None:
        """The recording that begins with ``tokens``; None where there is none."""
        last = self._last.get(row)
        if last is None or not self._plays(last, tokens):
            last = next((i for i in range(len(self._texts)) if self._plays(i, tokens)), None)
            if last is None:
                return None
            self._last[row] = last
        return self._recordings[last]

    def _plays(self, index: int, tokens: npt.NDArray[np.integer[Any]]) -> bool:
        text, n = self._texts[index], len(tokens)
        return n <= len(text) and text[n - 1] == tokens[-1] and bool((text[:n] == tokens).all())


class ScriptedWorker:
    """Mixed into vLLM's worker; the names must not exist there."""

    model_runner: Any

    def follow_draft_plan(self, plan: str) -> None:
        """Take a plan, as JSON."""
        self.model_runner.drafter.follow(DraftPlan.model_validate_json(plan))


def _rest(recording: Recording, present: int) -> Sequence[int]:
    """The recorded output after the first ``present`` tokens of prompt and output."""
    return recording.output[present - len(recording.prompt) :]


def _limit(recording: Recording, present: int, length: int) -> int:
    if not recording.accepted:
        return length
    done = present - len(recording.prompt)
    return min(length, recording.accepted[min(done, len(recording.accepted) - 1)])
