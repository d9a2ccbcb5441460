"""Noise that is drawn is found again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from draftgate.measure.exact import ExactMetrics
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.power.engine_noise import EngineNoise, NoiseError, fit_noise

EXACT = ExactMetrics(outputs_hash="0" * 64, output_tokens=1, decode_tokens=1, decode_steps=1)


def sessions(noise: EngineNoise, count: int, cells: int, rounds: int = 5) -> list[CellFacts]:
    """Sessions of arms beside their controls."""
    random = np.random.default_rng(4)
    found = []
    for _ in range(count):
        machine = random.normal(0, noise.machine_sd)
        for cell in range(cells):
            arm, control = (
                random.normal(0, noise.session_sd) + random.normal(0, noise.round_sd, rounds)
                for _ in range(2)
            )
            timed = {
                "output_throughput": [(500 * np.exp(machine + arm)).tolist()],
                "speedup": [np.exp(arm - control).tolist()],
            }
            found.append(CellFacts(f"c{cell}", "", EXACT, timed))
    return found


def test_the_parts_are_told_apart() -> None:
    noise = EngineNoise(machine_sd=0.05, session_sd=0.02, round_sd=0.01)
    found = fit_noise(sessions(noise, 60, 10))
    assert found.round_sd == pytest.approx(0.01, rel=0.1)
    assert found.session_sd == pytest.approx(0.02, rel=0.1)
    assert found.machine_sd == pytest.approx(0.05, rel=0.3)


def test_round_noise_is_not_taken_for_a_shift_between_sessions() -> None:
    found = fit_noise(sessions(EngineNoise(0.0, 0.0, 0.03), 60, 10))
    assert found.session_sd < 0.006
    assert found.machine_sd < 0.006


def test_the_unit_does_not_matter() -> None:
    facts = sessions(EngineNoise(0.05, 0.02, 0.01), 4, 3)
    scaled = [
        CellFacts(
            f.cell,
            "",
            EXACT,
            {name: [[7 * v for v in s] for s in samples] for name, samples in f.timed.items()},
        )
        for f in facts
    ]
    plain, other = fit_noise(facts), fit_noise(scaled)
    assert math.isclose(plain.machine_sd, other.machine_sd, rel_tol=1e-6)
    assert math.isclose(plain.round_sd, other.round_sd, rel_tol=1e-6)


@pytest.mark.parametrize(("count", "rounds"), [(0, 5), (1, 5), (3, 1)])
def test_too_little_to_tell(count: int, rounds: int) -> None:
    with pytest.raises(NoiseError, match="two sessions"):
        fit_noise(sessions(EngineNoise(0.05, 0.02, 0.01), count, 2, rounds))
