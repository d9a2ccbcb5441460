"""Faults of the suite's own reference: a law that is wrong must be noticed, too."""

from __future__ import annotations

from functools import partial

from draftgate.lossless.mutants.edits import edited
from draftgate.lossless.mutants.mutant import Mutant

_LAW = "draftgate.lossless.law"

_lossy = partial(
    Mutant,
    kind="reference",
    where="v1-native",
    expected_channel="losslessness",
    tests=("test_law.py",),
)

MUTANTS = (
    _lossy(
        "law-block-residual-unscaled",
        apply=edited(f"{_LAW}:_block_ratios", ("[ratios[i] * x for x in p]", "[1 * x for x in p]")),
        quick=True,
    ),
    _lossy(
        "law-block-passes-too-often",
        apply=edited(
            f"{_LAW}:_passes", ("mass / (mass + 1 - ratio)", "mass / max(mass, 1 - ratio)")
        ),
        sole=True,
    ),
    _lossy(
        "law-standard-recovers-from-the-target",
        apply=edited(
            f"{_LAW}:standard", ("_emit(law, prefix, residual(p, q)", "_emit(law, prefix, p")
        ),
    ),
)
