"""Laws of `--shard` over the shipped profiles."""

from __future__ import annotations

import pytest

from draftgate.profile import known_profiles, load_profile
from draftgate.profile.shards import Shard, ShardError, balanced, estimated_seconds, scenarios_of

PROFILES = ("cpu", "cpu-full", "h100-llama3.1-8b", "h100-llama3-70b", "h100-qwen3-8b")


def test_the_profiles_are_there() -> None:
    assert set(PROFILES) <= set(known_profiles())


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("total", [1, 2, 3, 4])
def test_every_scenario_is_in_one_shard_and_no_shard_is_empty(name: str, total: int) -> None:
    profile = load_profile(name)
    if total > len(profile.scenarios()):
        pytest.skip("too few scenarios")
    shards = balanced(profile, total)
    assert all(shards)
    assert sum(map(len, shards)) == len(profile.scenarios())
    assert frozenset().union(*shards) == frozenset(profile.scenarios())


@pytest.mark.parametrize("name", PROFILES)
def test_shards_are_balanced(name: str) -> None:
    """None takes longer than its share and the longest scenario, with its control, together."""
    profile = load_profile(name)
    whole = estimated_seconds(profile, frozenset(profile.scenarios()))
    longest = max(estimated_seconds(profile, frozenset([s])) for s in profile.scenarios())
    for total in (2, 3):
        costs = [estimated_seconds(profile, shard) for shard in balanced(profile, total)]
        assert max(costs) <= whole / total + longest


def test_the_split_is_the_same_every_time() -> None:
    assert balanced(load_profile("cpu"), 3) == balanced(load_profile("cpu"), 3)


def test_each_scenario_can_be_a_shard_of_its_own() -> None:
    profile = load_profile("cpu")
    count = len(profile.scenarios())
    assert [len(shard) for shard in balanced(profile, count)] == [1] * count
    assert len(scenarios_of(profile, Shard.parse(f"{count}/{count}"))) == 1
    with pytest.raises(ShardError, match=f"has {count} scenarios, too few for {count + 1}"):
        balanced(profile, count + 1)
