"""An `EngineHost` without vLLM: a bigram model over 16 tokens, honest or with a fault.

The model's name is the seed of its table. A speculative config's ``fault`` says what goes wrong:
``greedy`` (a token in ten is another one), ``sampled`` (one in three is the likeliest), ``tie``
(takes the second of two tokens that are almost equally likely), ``start`` (does not start) or
``idle`` (none of its drafts is accepted).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from draftgate.engine import (
    Completion,
    EngineError,
    EngineInfo,
    EngineSpec,
    Probe,
    ProbeOutput,
    ProbeRequest,
    ProbeResult,
    Scoring,
    TokenScore,
)
from draftgate.engine.records import EngineMemory, SpecCounters

VOCAB = 16
MAX_MODEL_LEN = 64
TIED = 5  # after this token, two tokens are almost equally likely
MARGIN = 1e-5


def table(model: str) -> np.ndarray:
    """Logits [previous token, token]."""
    logits = np.random.default_rng(sum(model.encode())).normal(size=(VOCAB, VOCAB))
    logits[:, TIED] += 1.0
    best = logits[TIED].argmax()
    second = (best + 1) % VOCAB
    logits[TIED, second] = logits[TIED, best] - MARGIN
    return logits


class ToyHost:
    """Takes the place of `EngineHost`."""

    def __init__(self, spec: EngineSpec, *, label: str, log_dir: Path) -> None:
        self._spec, self._label = spec, label
        self._fault = (spec.speculative_config or {}).get("fault")
        self._table = table(spec.model)

    def __enter__(self) -> ToyHost:
        if self._fault == "start":
            raise EngineError(self._label, "start-up", "ValueError: no such head")
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    @property
    def info(self) -> EngineInfo:
        fields: dict[str, Any] = dict.fromkeys(EngineInfo.model_fields, 1)
        fields |= {
            "vllm": "0.0", "torch": "0", "python": "3", "platform": "cpu", "runner": "v1",
            "kernels": None, "isa_class": "toy", "dtype": "float32", "cores": (0,),
            "max_model_len": MAX_MODEL_LEN, "has_chat_template": False,
        }  # fmt: skip
        fields["memory"] = EngineMemory(
            kv_cache_bytes=1,
            kv_blocks=1,
            block_size=1,
            kv_cache_dtype="float32",
            weight_bytes=None,
            rss_bytes=1,
        )
        return EngineInfo(**fields)

    def tokenize(self, texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(ord(letter) % VOCAB for letter in text) for text in texts)

    def probe(self, probe: Probe) -> ProbeResult:
        outputs = tuple(self._output(request) for request in probe.requests)
        return ProbeResult(outputs=outputs, steps=1, preemptions=0, counters=self._counters())

    def score(self, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
        return tuple(
            tuple(
                self._score(text.token_ids[i - 1], text.token_ids[i], scoring.temperature)
                for i in range(text.start, len(text.token_ids))
            )
            for text in scoring.texts
        )

    def _counters(self) -> SpecCounters | None:
        if self._spec.speculative_config is None:
            return None
        accepted = 0 if self._fault == "idle" else 4
        return SpecCounters(
            drafts=6, draft_tokens=12, accepted_tokens=accepted, per_position=(accepted, 0)
        )

    def _output(self, request: ProbeRequest) -> ProbeOutput:
        luck = random.Random(f"{self._spec.model}/{request.request_id}/{self._fault}")
        token, tokens = request.prompt[-1], []
        for _ in range(request.sampling.max_tokens):
            token = self._next(token, request.sampling.temperature, luck)
            tokens.append(token)
        text = "".join(chr(ord("a") + token) for token in tokens)
        completion = Completion(token_ids=tuple(tokens), text=text, finish_reason="length")
        return ProbeOutput(request_id=request.request_id, completions=(completion,))

    def _next(self, previous: int, temperature: float, luck: random.Random) -> int:
        row = self._table[previous]
        best = int(row.argmax())
        if temperature == 0:
            if self._fault == "greedy" and luck.random() < 0.1:
                return int(row.argmin())
            if self._fault == "tie" and previous == TIED:
                return int(np.argsort(row)[-2])
            return best
        if self._fault == "sampled" and luck.random() < 1 / 3:
            return best
        weights = np.exp(row / temperature)
        return luck.choices(range(VOCAB), weights.tolist())[0]

    def _score(self, previous: int, token: int, temperature: float) -> TokenScore:
        row = self._table[previous]
        p = np.exp(row / temperature) / np.exp(row / temperature).sum()
        return TokenScore(
            gap=float(row.max() - row[token]),
            mass=float(p[token]),
            below=float(p[row > row[token]].sum()),
            below_id=float(p[:token].sum()),
        )
