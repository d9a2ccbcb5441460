"""The rules that span keys: names, the matrix, batch sizes, restrictions.

Each rule yields `Problem`s; a profile is used only where none does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from draftgate.profile.hints import did_you_mean
from draftgate.profile.model import Profile, Target
from draftgate.profile.problem import Problem
from draftgate.profile.speculative import engine_problems, variant_problems


def first_problem(profile: Profile) -> Problem | None:
    """The first broken rule, None where the profile is sound."""
    return next(_problems(profile), None)


def _problems(profile: Profile) -> Iterator[Problem]:
    yield from _sampled_outputs(profile)
    yield from _unbalanced_pairs(profile)
    yield from _duplicates(("targets",), [t.name for t in profile.targets], "target")
    yield from _duplicates(("workloads",), [w.name for w in profile.workloads], "workload")
    yield from _workload_sources(profile)
    for index, target in enumerate(profile.targets):
        yield from _target_problems(profile, target, index)
    yield from _matrix_names(profile)
    yield from _repeated_cells(profile)
    yield from _unused(profile)
    yield from _ambiguous_test_ids(profile)


def _sampled_outputs(profile: Profile) -> Iterator[Problem]:
    if profile.temperature > 0:
        remedy = "write 0.0; `draftgate lossless --temperature` judges sampled output"
        yield Problem(
            ("temperature",),
            "sampled outputs equal nothing that they could be compared with",
            profile.temperature,
            "0.0",
            remedy,
        )


def _unbalanced_pairs(profile: Profile) -> Iterator[Problem]:
    starts, pairs = profile.plan.reference_starts, profile.plan.reference_pairs
    if starts == 1:
        return
    if starts % 2:
        remedy = "write 1 or an even number: the sides take turns at being started first"
        yield Problem(("plan", "reference_starts"), "an odd number of starts", starts, "", remedy)
    elif pairs % (2 * starts):
        remedy = f"write a multiple of {2 * starts}: each start plays pairs of both orders"
        yield Problem(
            ("plan", "reference_pairs"), "pairs not balanced over the starts", pairs, "", remedy
        )


def _duplicates(
    location: tuple[str | int, ...], names: Sequence[str], kind: str
) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            where = (*location, index, "name")
            yield Problem(where, f"duplicated {kind} name", name, remedy="rename or remove one")


def _workload_sources(profile: Profile) -> Iterator[Problem]:
    for index, spec in enumerate(profile.workloads):
        where = ("workloads", index)
        if spec.source == "file" and spec.path is None:
            remedy = 'add path = "...", a json, jsonl, csv or parquet file in the hub\'s own schema'
            yield Problem((*where, "path"), 'missing key: source = "file" needs it', remedy=remedy)
        if spec.source != "file" and spec.path is not None:
            remedy = 'write source = "file", or remove path'
            yield Problem(
                (*where, "path"), f"not used by source {spec.source!r}", spec.path, "", remedy
            )
        if spec.source != "hub" and spec.revision is not None:
            remedy = 'write source = "hub", or remove revision'
            yield Problem(
                (*where, "revision"),
                f"not used by source {spec.source!r}",
                spec.revision,
                "",
                remedy,
            )


def _target_problems(profile: Profile, target: Target, index: int) -> Iterator[Problem]:
    where = ("targets", index)
    names = [variant.name for variant in target.variants]
    yield from _duplicates((*where, "variants"), names, "variant")
    if "none" not in names:
        remedy = 'add {name = "none"}: every variant is compared with standard decoding'
        yield Problem((*where, "variants"), "no control", names, "one of them is 'none'", remedy)
    for position, variant in enumerate(target.variants):
        here = (*where, "variants", position)
        yield from variant_problems(variant, here, profile.newer_vllm_keys)
        known = [spec.name for spec in profile.workloads]
        yield from _unknown((*here, "workloads"), variant.workloads or (), known, "workload")
    yield from engine_problems(target, (*where, "engine_args"), profile.newer_vllm_keys)
    yield from _too_few_slots(profile, target, (*where, "engine_args", "max_num_seqs"))


def _too_few_slots(
    profile: Profile, target: Target, where: tuple[str | int, ...]
) -> Iterator[Problem]:
    slots, largest = (
        target.engine_args.get("max_num_seqs"),
        max(profile.batch_sizes(target), default=0),
    )
    if slots is not None and (type(slots) is not int or slots < largest):
        remedy = f"raise max_num_seqs to {largest}, or drop the larger batch sizes from the matrix"
        allowed = f"an integer >= {largest}, the largest batch size of this target"
        yield Problem(where, "below the largest batch size", slots, allowed, remedy)


def _matrix_names(profile: Profile) -> Iterator[Problem]:
    workloads = [spec.name for spec in profile.workloads]
    targets = [target.name for target in profile.targets]
    for index, row in enumerate(profile.matrix):
        where = ("matrix", index)
        yield from _unknown((*where, "workloads"), row.workloads, workloads, "workload")
        yield from _unknown((*where, "targets"), row.targets or (), targets, "target")


def _unknown(
    where: tuple[str | int, ...], names: Iterable[str], known: Sequence[str], kind: str
) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name not in known:
            remedy = did_you_mean(name, known, f"declare it under {kind}s, or remove it here")
            yield Problem(
                (*where, index), f"{kind} is not declared in this profile", name, known, remedy
            )


def _repeated_cells(profile: Profile) -> Iterator[Problem]:
    for target in profile.targets:
        seen: set[tuple[str, int]] = set()
        for index, row in enumerate(profile.matrix):
            if not row.covers(target.name):
                continue
            for pair in ((w, size) for w in row.workloads for size in row.batch_sizes):
                if pair in seen:
                    found = f"{target.name}/.../{pair[0]}/bs{pair[1]}"
                    remedy = "let one row alone name this workload at this batch size"
                    yield Problem(("matrix", index), "duplicated cell", found, "", remedy)
                seen.add(pair)


def _unused(profile: Profile) -> Iterator[Problem]:
    """What is declared but in no cell would be missing from the manifest without a word."""
    cells = profile.cells()
    used = {cell.workload.name for cell in cells}
    remedy = "add it to a matrix row, or remove it"
    for index, spec in enumerate(profile.workloads):
        if spec.name not in used:
            yield Problem(
                ("workloads", index), "in no matrix row, so never measured", remedy=remedy
            )
    scenarios = {cell.scenario.id for cell in cells}
    for index, target in enumerate(profile.targets):
        for position, variant in enumerate(target.variants):
            if f"{target.name}/{variant.name}" not in scenarios:
                where = ("targets", index, "variants", position)
                yield Problem(where, "in no cell of the matrix, so never measured", remedy=remedy)


def _ambiguous_test_ids(profile: Profile) -> Iterator[Problem]:
    """`a-b/c` and `a/b-c` are two cells but one pytest id."""
    cells = profile.cells()
    counts = Counter(cell.test_id for cell in cells)
    for cell in cells:
        if counts[cell.test_id] > 1:
            index = [target.name for target in profile.targets].index(cell.scenario.target.name)
            yield Problem(
                ("targets", index, "name"),
                "two cells have the same pytest id",
                cell.test_id,
                remedy="rename the target or the variant",
            )
