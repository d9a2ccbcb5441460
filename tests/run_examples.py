"""Folders of runs, written as a real run writes them, on engines that answer at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fake_engines import Script, play

from draftgate.engine.protocol import RoundPrompt, RoundRequest
from draftgate.measure.record import Machine, Measurement, Provenance, Subject
from draftgate.reporting.results_folder import ResultsFolder
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
PROMPTS = tuple(f"prompt number {i} with some words in it" for i in range(4))


def cell(
    name: str,
    *,
    slower: float = 1.0,
    accepts: tuple[int, ...] = (3, 1, 2),
    rounds: int = 3,
    timed: bool = True,
    prompts: Sequence[str] = PROMPTS,
    ids: Sequence[str] | None = None,
    machine: str = "box",
    commit: str = "abc",
    started: datetime = START,
) -> Measurement:
    """Of cell ``name`` (``target/variant-kK/workload/bsN``), beside its control.

    ``slower``: factor on the arm's times; the third round is a little faster than the others.
    """
    target, variant, workload, batch = name.split("/")
    k = int(variant.rpartition("-k")[2]) if variant != "none" else 0
    request = RoundRequest(
        prompts=tuple(
            RoundPrompt(prompt_id=ids[i] if ids else f"{workload}-{i:04d}", text=text)
            for i, text in enumerate(prompts)
        ),
        batch_size=int(batch.removeprefix("bs")),
        max_tokens=64,
    )
    speeds = [(1.0, 1.01, 0.98)[i % 3] for i in range(rounds)]
    arm = [play(request, k, Script(accepts=accepts, slower=slower * s)) for s in speeds]
    control = [play(request, 0, Script()) for _ in speeds] if k else []
    return Measurement.build(
        Subject(
            cell=name,
            scenario=f"{target}/{variant}",
            workload=workload,
            workload_hash="ab" * 32,
            batch_size=request.batch_size,
            k=k,
            model_id=f"testbed:{target}",
        ),
        arm,
        control,
        machine=Machine(key=machine, isa_class="x86-avx2-fp32", fields={"cores": 2}),
        provenance=Provenance(
            vllm="0.32.0", torch="2.13.0", draftgate="0.1.0", python="3.11", commit=commit
        ),
        started=started,
        ended=started + timedelta(seconds=5),
        timed=timed,
    )


def small_run() -> list[Measurement]:
    """Two variants on two workloads, one of them at two batch sizes."""
    return [
        cell(f"tiny/{variant}/{place}", accepts=accepts)
        for place in ("gsm8k/bs1", "gsm8k/bs4", "code/bs4")
        for variant, accepts in (
            ("none", ()),
            ("ngram-k3", (3, 0, 0)),
            ("eagle3-k3", (2, 3, 1)),
        )
    ]


def write_run(
    path: Path,
    cells: Sequence[Measurement],
    verdicts: Sequence[Verdict] = (),
    **facts: Any,
) -> Path:
    """The folder of a run that ended well, but for what ``facts`` say otherwise."""
    folder = ResultsFolder.create(path)
    for measured in cells:
        folder.write_cell(measured)
    folder.write_verdicts(verdicts or [ok(measured) for measured in cells])
    whole = {
        "profile": "cpu",
        "cells": [measured.draftgate.subject.cell for measured in cells],
        "started": START.isoformat(),
        "ended": (START + timedelta(hours=1)).isoformat(),
        "exit_reason": "ok",
    }
    folder.write_run({**whole, **facts})
    return path


def ok(measured: Measurement) -> Verdict:
    return Verdict(measured.draftgate.subject.cell, "speedup", VerdictKind.OK, n=3)
