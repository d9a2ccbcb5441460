"""What must hold of every measurement; a broken identity is a failure, never a warning.

Each identity is a function of a round and k that yields what is wrong, and its name is the
identity's. Output trimming (EOS, stop strings, the token limit) shortens a request's last step
only: vLLM's counters still hold the tokens behind it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters
from draftgate.measure import metrics

TOLERANCE = 1e-9  # ratios of the same integers, so only the rounding of float64

STAGE_TOLERANCE = 0.02  # of the step time: what no scope covers, and the ends of the round

CLOCK_SLACK_S = 0.005  # a request's clock and the round's are read at different lines


class Broken(NamedTuple):
    """An identity that does not hold, and how."""

    identity: str
    detail: str


Identity = Callable[[RoundRecord, int], Iterator[str]]


def per_position_sums_to_al(record: RoundRecord, k: int) -> Iterator[str]:
    """Per-position acceptance rates sum to AL - 1."""
    rates = metrics.per_position_acceptance_rate(record, k)
    length = metrics.acceptance_length(record)
    if rates is None or length is None:
        return
    if not math.isclose(sum(rates), length - 1, abs_tol=TOLERANCE):
        yield f"per-position rates sum to {sum(rates):.6g}, AL - 1 is {length - 1:.6g}"


def al_in_range(record: RoundRecord, k: int) -> Iterator[str]:
    """1 <= AL <= k+1."""
    length = metrics.acceptance_length(record)
    if length is not None and not 1 <= length <= k + 1 + TOLERANCE:
        yield f"acceptance length {length:.6g} is outside [1, {k + 1}]"


def per_position_not_increasing(record: RoundRecord, k: int) -> Iterator[str]:
    """A token is accepted only behind accepted ones; position counts have length k."""
    if record.counters is None:
        return
    counts = record.counters.per_position
    if len(counts) != k:
        yield f"{len(counts)} per-position counters for k={k}"
    if any(later > earlier for earlier, later in itertools.pairwise(counts)):
        yield f"accepted per position increases: {list(counts)}"


def counters_equal_requests(record: RoundRecord, k: int) -> Iterator[str]:
    """The engine's counters are the sums over the requests' own records."""
    if record.counters is None:
        return
    summed = _counters_of(record.requests, len(record.counters.per_position))
    for name, engine in record.counters.model_dump().items():
        if engine != (requests := getattr(summed, name)):
            yield f"{name}: engine {engine}, requests {requests}"


def accepted_within_drafted(record: RoundRecord, k: int) -> Iterator[str]:
    """0 <= accepted <= drafted <= k in each verification, and drafted >= 1."""
    for request in record.requests:
        if len(request.drafted) != len(request.accepted):
            yield (
                f"{request.prompt_id}: {len(request.drafted)} drafts, "
                f"{len(request.accepted)} acceptances"
            )
        pairs = zip(request.drafted, request.accepted, strict=False)
        for step, (drafted, accepted) in enumerate(pairs):
            if not (0 <= accepted <= drafted <= k and drafted >= 1):
                yield f"{request.prompt_id} draft {step}: accepted {accepted} of {drafted}, k={k}"


def output_length(record: RoundRecord, k: int) -> Iterator[str]:
    """A request's tokens are those its steps emitted, and each step emits at least one."""
    for request in record.requests:
        tokens, emitted = len(request.output_token_ids), sum(request.emitted)
        if tokens != emitted:
            yield f"{request.prompt_id}: {tokens} output tokens, {emitted} emitted by its steps"
        if min(request.emitted, default=0) < 1:
            yield f"{request.prompt_id}: a step without a token, or no step at all"


def emitted_follows_acceptance(record: RoundRecord, k: int) -> Iterator[str]:
    """A verification emits its accepted tokens plus one; only a request's last step is trimmed."""
    if record.counters is None:
        return
    for request in record.requests:
        if not _explained(request):
            yield (
                f"{request.prompt_id}: steps emitted {list(request.emitted)}, "
                f"verifications accepted {list(request.accepted)}"
            )


def one_token_without_sd(record: RoundRecord, k: int) -> Iterator[str]:
    """Without speculative decoding nothing is drafted and every step emits exactly one token."""
    if (record.counters is None) != (k == 0):
        found = "no" if record.counters is None else "acceptance"
        yield f"k={k}, but the engine has {found} counters"
    if record.counters is not None:
        return
    for request in record.requests:
        if request.drafted or request.accepted:
            yield f"{request.prompt_id}: drafts without speculative decoding"
        if any(count > 1 for count in request.emitted):
            yield f"{request.prompt_id}: a step emitted {max(request.emitted)} tokens"


def finished(record: RoundRecord, k: int) -> Iterator[str]:
    """There are requests, and each has a finish reason."""
    if not record.requests:
        yield "no requests"
    for request in record.requests:
        if not request.finish_reason:
            yield f"{request.prompt_id}: no finish reason"


def steps_cover_outputs(record: RoundRecord, k: int) -> Iterator[str]:
    """Engine steps suffice for the longest request, and for all at ``batch_size`` a step."""
    longest = max((len(r.emitted) for r in record.requests), default=0)
    total = sum(len(r.emitted) for r in record.requests)
    if record.steps < longest:
        yield f"{record.steps} engine steps, but a request had {longest} output steps"
    if total > record.steps * record.batch_size:
        yield (
            f"{total} output steps in {record.steps} engine steps at batch size "
            f"{record.batch_size}: more requests were in flight"
        )


def times_ordered(record: RoundRecord, k: int) -> Iterator[str]:
    """0 < TTFT <= e2e <= wall, all finite."""
    if not (math.isfinite(record.wall_s) and record.wall_s > 0):
        yield f"wall time {record.wall_s} s"
        return
    for request in record.requests:
        if not 0 < request.ttft_s <= request.e2e_s <= record.wall_s + CLOCK_SLACK_S:
            yield (
                f"{request.prompt_id}: TTFT {request.ttft_s} s, e2e {request.e2e_s} s, "
                f"wall {record.wall_s} s"
            )


def stages_sum_to_steps(record: RoundRecord, k: int) -> Iterator[str]:
    """Stage times sum to the step time, and step times to the round's wall time, within 2 %."""
    steps = record.stages
    if steps is None:
        return
    columns = (steps.draft_ms, steps.verify_ms, steps.sample_ms, steps.overhead_ms)
    stages, total, wall = sum(map(sum, columns)), sum(steps.step_ms), 1000 * record.wall_s
    if not math.isclose(stages, total, rel_tol=STAGE_TOLERANCE):
        yield f"stages sum to {stages:.2f} ms, their steps to {total:.2f} ms"
    if not math.isclose(total, wall, rel_tol=STAGE_TOLERANCE):
        yield f"steps sum to {total:.2f} ms, the round took {wall:.2f} ms"


IDENTITIES: tuple[Identity, ...] = (
    per_position_sums_to_al,
    al_in_range,
    per_position_not_increasing,
    counters_equal_requests,
    accepted_within_drafted,
    output_length,
    emitted_follows_acceptance,
    one_token_without_sd,
    finished,
    steps_cover_outputs,
    times_ordered,
    stages_sum_to_steps,
)


def rounds_agree(rounds: Sequence[RoundRecord]) -> Iterator[str]:
    """Greedy decoding repeats itself: every round equals the first in outputs and counters."""
    for index, record in enumerate(rounds[1:], start=1):
        if record.counters != rounds[0].counters:
            yield f"round {index}: counters {record.counters}, round 0: {rounds[0].counters}"
        if len(record.requests) != len(rounds[0].requests):
            yield f"round {index}: {len(record.requests)} requests, not {len(rounds[0].requests)}"
        for first, other in zip(rounds[0].requests, record.requests, strict=False):
            if changed := _differences(first, other):
                yield f"round {index}, {first.prompt_id}: {', '.join(changed)} not as in round 0"


def check(rounds: Sequence[RoundRecord], k: int, *, repeats: bool = True) -> list[Broken]:
    """All identities over all rounds of one arm; ``k`` is 0 for the control. Empty: all hold.

    ``repeats``: rounds must equal each other, too; see `engine.fingerprint.repeats_tokens`.
    """
    if not rounds:
        return [Broken("finished", "no rounds")]
    broken = [
        Broken(identity.__name__, f"round {index}: {detail}")
        for index, record in enumerate(rounds)
        for identity in IDENTITIES
        for detail in identity(record, k)
    ]
    agree = rounds_agree(rounds) if repeats else ()
    return broken + [Broken("rounds_agree", detail) for detail in agree]


def check_beside(
    rounds: Sequence[RoundRecord],
    control_rounds: Sequence[RoundRecord],
    k: int,
    *,
    repeats: bool = True,
) -> tuple[Broken, ...]:
    """What neither an arm nor its control may break; the control's faults are told apart."""
    control = check(control_rounds, 0, repeats=repeats) if control_rounds else []
    return (
        *check(rounds, k, repeats=repeats),
        *(Broken(identity, f"control: {detail}") for identity, detail in control),
    )


def _counters_of(requests: Sequence[RequestRecord], positions: int) -> SpecCounters:
    accepted = [count for request in requests for count in request.accepted]
    return SpecCounters(
        drafts=sum(len(r.drafted) for r in requests),
        draft_tokens=sum(sum(r.drafted) for r in requests),
        accepted_tokens=sum(accepted),
        per_position=tuple(sum(count > i for count in accepted) for i in range(positions)),
    )


def _explained(request: RequestRecord) -> bool:
    """Whether the extra tokens of the decode steps are the accepted ones, in order.

    Steps without a draft and verifications that accept nothing both emit one token, so only the
    others are compared; the last step may return less than was accepted.
    """
    if len(request.drafted) > max(len(request.emitted) - 1, 0):
        return False
    accepted = [count for count in request.accepted if count]
    *steps, last = [count - 1 for count in request.emitted[1:]] or [0]
    extra = [count for count in steps if count]
    if accepted == extra and last == 0:
        return True
    return bool(accepted) and accepted[:-1] == extra and 0 <= last <= accepted[-1]


def _differences(first: RequestRecord, other: RequestRecord) -> list[str]:
    names = ("prompt_id", "output_token_ids", "finish_reason", "emitted", "drafted", "accepted")
    return [name for name in names if getattr(first, name) != getattr(other, name)]
