"""What losslessness is: a step's output, continued by the target, has the target's joint law.

Proven here for the reference of every verification method, by enumeration in exact arithmetic. The
other modules hold vLLM's samplers to this reference.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_models import Case, blanked, cases, distributions
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.lossless import law
from draftgate.lossless.law import Law, Tokens, Verifier

METHODS = {"standard": law.standard, "block": law.block}


def verifier(method: str, case: Case, *, certain: bool = False) -> Verifier:
    verify = METHODS[method]
    return lambda window: verify(window, case.target, None if certain else case.proposer)


def step(case: Case, verify: Verifier) -> Law:
    return law.output_law(law.window_law(case.drafting, case.k), verify)


def is_targets(output: Law, case: Case) -> bool:
    """Whether the output's joint law over k + 1 tokens is that of standard decoding."""
    length = case.k + 1
    return law.completed(output, case.target, length) == law.target_law(case.target, length)


@pytest.mark.parametrize("method", METHODS)
@given(case=cases())
@settings(max_examples=120)
def test_verification_with_known_proposal_is_lossless(method: str, case: Case) -> None:
    assert is_targets(step(case, verifier(method, case)), case)


@pytest.mark.parametrize("method", METHODS)
@given(case=cases())
@settings(max_examples=120)
def test_verification_of_certain_drafts_is_lossless_however_they_were_drawn(
    method: str, case: Case
) -> None:
    assert is_targets(step(case, verifier(method, case, certain=True)), case)


@pytest.mark.parametrize("method", METHODS)
@given(case=cases(), blanks=st.frozensets(st.integers(0, 2)))
@settings(max_examples=80)
def test_placeholders_do_not_change_the_text(
    method: str, case: Case, blanks: frozenset[int]
) -> None:
    windows = blanked(law.window_law(case.drafting, case.k), blanks)
    output = law.output_law(windows, verifier(method, case))
    assert is_targets(output, case)
    longest = min(blanks, default=case.k) + 1
    assert all(len(tokens) <= longest for tokens in output)


@given(case=cases())
@settings(max_examples=120)
def test_greedy_emits_the_argmax_chain(case: Case) -> None:
    chain: Tokens = ()
    for _ in range(case.k + 1):
        chain += (law.argmax(case.target(chain)),)
    for window in law.window_law(case.drafting, case.k):
        (emitted,) = law.greedy(window, case.target)
        agreed = next(
            (i for i, (x, y) in enumerate(zip(window, chain, strict=False)) if x != y), len(window)
        )
        assert emitted == chain[: agreed + 1]


@pytest.mark.parametrize("method", METHODS)
@given(case=cases())
def test_law_has_mass_one(method: str, case: Case) -> None:
    assert sum(step(case, verifier(method, case)).values()) == 1


@given(case=cases())
def test_first_draft_is_accepted_with_the_overlap_of_p_and_q(case: Case) -> None:
    single = Case(case.target, case.proposer, k=1)
    output = step(single, verifier("standard", single))
    p, q = case.target(()), case.proposer(())
    accepted = sum((mass for tokens, mass in output.items() if len(tokens) == 2), Fraction(0))
    assert accepted == sum(map(min, p, q))


@given(case=cases())
@settings(max_examples=120)
def test_block_verification_emits_at_least_as_many_tokens(case: Case) -> None:
    standard = law.mean_length(step(case, verifier("standard", case)))
    assert law.mean_length(step(case, verifier("block", case))) >= standard


@pytest.mark.parametrize("method", METHODS)
@given(case=cases())
def test_proposer_equal_to_the_target_is_always_accepted(method: str, case: Case) -> None:
    twin = Case(case.target, case.target, case.k)
    assert all(len(tokens) == case.k + 1 for tokens in step(twin, verifier(method, twin)))


@given(p=distributions(3), q=distributions(3))
def test_one_hot_proposal_and_certain_drafts_are_the_same_law(
    p: tuple[Fraction, ...], q: tuple[Fraction, ...]
) -> None:
    draft = q.index(max(q))
    one_hot = [Fraction(int(x == draft)) for x in range(3)]
    told = law.standard((draft,), lambda _: p, lambda _: one_hot)
    assert told == law.standard((draft,), lambda _: p)


@pytest.mark.parametrize(
    ("fault", "weights"),
    [
        ("recovered token drawn from p", lambda p, q: p),
        ("recovered token drawn from q", lambda p, q: q),
        (
            "recovered token drawn from |p - q|",
            lambda p, q: [abs(a - b) for a, b in zip(p, q, strict=True)],
        ),
    ],
)
def test_law_tells_faulty_recovery_from_the_right_one(
    monkeypatch: pytest.MonkeyPatch, fault: str, weights: object
) -> None:
    p, q = (
        (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)),
        (Fraction(1, 6),) * 2 + (Fraction(2, 3),),
    )
    monkeypatch.setattr(law, "residual", weights)
    output = law.output_law(
        law.window_law(lambda _: q, 1), lambda w: law.standard(w, lambda _: p, lambda _: q)
    )
    assert law.completed(output, lambda _: p, 2) != law.target_law(lambda _: p, 2), fault


def test_forbidden_draft_must_be_verified_not_dropped() -> None:
    """A grammar forbids token 2 (p = 0), the proposer drafts it all the same.

    Verified, it is replaced from (p - q)+ and the text is the target's. Dropped because it is
    forbidden, the token after the empty window is drawn from p, and the text is not.
    """
    p, q = (
        (Fraction(1, 2), Fraction(1, 2), Fraction(0)),
        (Fraction(3, 4), Fraction(0), Fraction(1, 4)),
    )
    case = Case(lambda _: p, lambda _: q, k=1)
    windows = law.window_law(case.drafting, 1)
    dropped = {() if window == (2,) else window: mass for window, mass in windows.items()}
    verify = verifier("standard", case)
    assert is_targets(law.output_law(windows, verify), case)
    assert not is_targets(law.output_law(dropped, verify), case)
    certain = verifier("standard", case, certain=True)
    assert is_targets(law.output_law(dropped, certain), case)
