"""What keeps a whole run from proving anything: another profile, a selection, a mix of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from draftgate.profile.shards import Shard, ShardError
from draftgate.verdict.evidence import Evidence


@dataclass(frozen=True)
class Expected:
    """The profile that the runs must belong to.

    ``manifest``: its hash. ``fingerprint``: pattern of the hardware it declares; empty: any.
    ``commit``: the full hash, or its beginning, that was to be measured; empty: any.
    """

    profile: str
    manifest: str
    fingerprint: str = ""
    commit: str = ""


def run_gaps(expected: Expected, runs: Sequence[Evidence]) -> Iterator[str]:
    """Reasons, each a sentence without its full stop."""
    for run in runs:
        yield from _own_gaps(expected, run)
    yield from _mixed(runs)
    yield from _shards(runs)


def is_for(pattern: str, fingerprint: str) -> bool:
    """Whether a profile for hardware like ``pattern`` (empty: any) accepts a machine's runs."""
    return not pattern or fnmatchcase(fingerprint, pattern)


def _own_gaps(expected: Expected, run: Evidence) -> Iterator[str]:
    facts = run.facts
    if not facts.manifest:
        yield f"{run.source} names no profile: it holds no perf run, or one that measured nothing"
    elif facts.manifest != expected.manifest:
        yield f"{run.source} belongs to {_other_profile(expected, run)}"
    if not is_for(expected.fingerprint, facts.fingerprint):
        yield (
            f"{run.source} was measured on {facts.fingerprint or 'an unnamed machine'}, "
            f"the profile is for {expected.fingerprint}"
        )
    if not facts.commit.startswith(expected.commit):
        yield (
            f"{run.source} was measured on commit {facts.commit or 'unknown'}, "
            f"not on {expected.commit}"
        )
    elif expected.commit and facts.commit.endswith("-dirty"):
        yield f"{run.source} was measured with uncommitted changes on {expected.commit}"
    if facts.keyword:
        yield f"{run.source} ran under -k {facts.keyword!r}"
    elif facts.deselected:
        yield f"{run.source} left out {facts.deselected} tests of cells by an option"
    if planted := {test.record["fault"] for test in run.tests if "fault" in test.record}:
        yield f"{run.source} ran with a planted fault ({', '.join(sorted(planted))})"
    if facts.updating:
        yield (
            f"{run.source} ran under --update-baselines: it does not judge against what it replaces"
        )


def _other_profile(expected: Expected, run: Evidence) -> str:
    facts = run.facts
    if facts.profile != expected.profile:
        return f"profile {facts.profile}, not {expected.profile}"
    return (
        f"another version of profile {facts.profile} (manifest {facts.manifest}, "
        f"here {expected.manifest})"
    )


def _mixed(runs: Sequence[Evidence]) -> Iterator[str]:
    """Shards of one run share machine and commit."""
    for name in ("fingerprint", "commit"):
        found = sorted({getattr(run.facts, name) for run in runs})
        if len(found) > 1:
            yield f"the files are of different runs: {name} {' and '.join(map(repr, found))}"


def _shards(runs: Sequence[Evidence]) -> Iterator[str]:
    if not any(run.facts.shard for run in runs):
        return
    counts = Counter(run.facts.shard for run in runs)
    totals = {shard.partition("/")[2] for shard in counts}
    if strange := [shard for shard in counts if not _is_shard(shard)]:
        yield f"shard {', '.join(sorted(map(repr, strange)))} is none: a shard is i/n"
        return
    if len(totals) > 1:
        yield f"the files are of different runs: shards {', '.join(sorted(map(repr, counts)))}"
        return
    for shard, times in counts.items():
        if times > 1:
            yield f"shard {shard} is there {times} times"
    total = next(iter(totals))
    wanted = [f"{i}/{total}" for i in range(1, int(total) + 1)]
    if missing := [shard for shard in wanted if shard not in counts]:
        yield f"shard {', '.join(missing)} is missing"


def _is_shard(text: str) -> bool:
    try:
        Shard.parse(text)
    except ShardError:
        return False
    return True
