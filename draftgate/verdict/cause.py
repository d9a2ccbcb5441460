"""Why throughput moved: acceptance (tokens per step) or step time."""

from __future__ import annotations

UNCHANGED_TIME = 0.01  # step times are timed: closer than this is noise

UNEXPLAINED = 0.02  # what the two factors leave over, worth naming


def signed_percent(ratio: float) -> str:
    """``0.931`` -> ``-6.9 %``."""
    return f"{100 * (ratio - 1):+.1f} %"


def explain(
    throughput: float | None = None,
    tokens_per_step: float | None = None,
    step_time: float | None = None,
    stages: str = "",
) -> str:
    """The factors of a change in throughput, each a ratio new / old; what is None is left out.

    Throughput = tokens per step x requests in a step / step time. Tokens per step is exact, so
    only a ratio of 1 counts as unchanged; the rest that the two leave is batch occupancy.
    ``stages``: what moved in the step, told where the step time did.
    """
    factors = [_step_time(step_time, stages), _acceptance(tokens_per_step)]
    if throughput and tokens_per_step and step_time:
        factors.append(_occupancy(throughput * step_time / tokens_per_step))
    return ", ".join(factor for factor in factors if factor)


def _step_time(ratio: float | None, stages: str) -> str:
    if ratio is None:
        return ""
    if abs(ratio - 1) < UNCHANGED_TIME:
        return "step time unchanged"
    return f"step time {signed_percent(ratio)}" + (f" ({stages})" if stages else "")


def _acceptance(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return "acceptance unchanged" if ratio == 1 else f"tokens per step {signed_percent(ratio)}"


def _occupancy(ratio: float) -> str:
    return f"requests in a step {signed_percent(ratio)}" if abs(ratio - 1) > UNEXPLAINED else ""
