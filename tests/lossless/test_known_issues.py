from pathlib import Path

import pytest
from pydantic import ValidationError

from draftgate.lossless import known_issues
from draftgate.lossless.known_issues import known_issue, load_known_issues, places_of_engine
from draftgate.lossless.samplers import VARIABLE, SamplerError, load_sampler

ENTRY = """
[[issue]]
id = "L9"
title = "t"
versions = ">=0.30,<0.33"
samplers = ["v1-native"]
upstream = "a/b#1"
finding = "docs/findings/L9.md"
"""


def test_each_shipped_issue_has_a_finding_with_a_reproducer():
    root = Path(__file__).parents[2]
    for issue in load_known_issues().values():
        text = (root / issue.finding).read_text("utf-8")
        assert issue.id in text
        assert "```python" in text


@pytest.mark.parametrize(
    ("version", "sampler", "applies"),
    [
        ("0.32.0", "v1-native", True),
        ("0.32.0+cpu", "v1-native", True),
        ("0.33.0rc1", "v1-native", False),
        ("0.33.0", "v1-native", False),
        ("0.32.0", "v1-triton", False),
    ],
)
def test_issue_applies_to_its_versions_and_samplers(version, sampler, applies):
    assert load_known_issues(ENTRY)["L9"].applies(version, sampler) is applies


@pytest.mark.parametrize(
    ("runner", "platform", "verification", "some"),
    [
        ("v1", "cpu", "standard", {"L1", "L3", "L9"}),
        ("v1", "cuda", "standard", {"L3", "L9", "L12"}),
        ("v2", "cuda", "standard", {"L12", "L15"}),
        ("v2", "cuda", "block", {"L10", "L12", "L15"}),
        ("unknown", "cuda", "standard", set()),
    ],
)
def test_an_engine_has_the_defects_of_its_runner_and_of_its_sampler(
    runner, platform, verification, some
):
    places = places_of_engine(runner, platform, verification)
    issues = load_known_issues().values()
    found = {i.id for i in issues if any(i.applies("0.32.0", place) for place in places)}
    assert some <= found
    assert ("L10" in found) == ("L10" in some)
    assert ("L1" in found) == ("L1" in some)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('versions = ">=0.30,<0.33"', 'versions = "new"', "versions"),
        ('upstream = "a/b#1"', 'upstream = "1"', "upstream"),
        ('id = "L9"', 'id = "9"', "id"),
        ('title = "t"', 'titel = "t"', "titel"),
        ('samplers = ["v1-native"]', "samplers = []", "samplers"),
    ],
)
def test_malformed_entry_names_its_key(old, new, key):
    with pytest.raises(ValidationError, match=key):
        load_known_issues(ENTRY.replace(old, new))


def test_id_listed_twice_is_refused():
    with pytest.raises(ValueError, match="L9 is listed twice"):
        load_known_issues(ENTRY + ENTRY)


def test_unknown_id_is_refused():
    with pytest.raises(KeyError):
        known_issue("L404")


@pytest.mark.parametrize(
    ("version", "sampler", "expected"),
    [
        ("0.32.0", "v1-native", True),
        ("0.99", "v1-native", False),
        ("0.32.0", "v1-triton", False),
        (None, "v1-native", False),
    ],
)
def test_mark_expects_failure_only_where_the_issue_applies(monkeypatch, version, sampler, expected):
    monkeypatch.setattr(known_issues, "vllm_version", lambda: version)
    monkeypatch.setenv(VARIABLE, sampler)
    mark = known_issue("L1").mark
    assert mark.args == (expected,)
    assert mark.kwargs["strict"] is True
    assert mark.kwargs["raises"] is AssertionError
    assert "L1" in mark.kwargs["reason"]
    assert "vllm-project/vllm#55005" in mark.kwargs["reason"]


def test_unknown_sampler_lists_the_known_ones():
    with pytest.raises(SamplerError, match="v1-native"):
        load_sampler("v0")
