"""From a profile's workload to its frozen prompts."""

from __future__ import annotations

from draftgate.profile.model import WorkloadSpec
from draftgate.workload.errors import WorkloadError
from draftgate.workload.frozen import FrozenWorkload, Prompt, freeze
from draftgate.workload.hub import hub_table
from draftgate.workload.local import file_table
from draftgate.workload.schemas import schema_of
from draftgate.workload.select import prompt_id, select
from draftgate.workload.table import Table


def load_workload(spec: WorkloadSpec) -> FrozenWorkload:
    """The prompts of ``spec``: the same for the same spec and source. Raises `WorkloadError`."""
    prompts = _mini(spec) if spec.source == "mini" else _selected(spec)
    return freeze(spec.name, spec.source, prompts, spec.revision)


def _mini(spec: WorkloadSpec) -> tuple[Prompt, ...]:
    """The testbed's held-out prompts, in its own order: the seed plays no part."""
    from draftgate.testbed.corpus import evaluation

    examples = evaluation(spec.name, spec.prompts)
    return tuple(
        Prompt(prompt_id=prompt_id(spec.name, row), text=example.prompt)
        for row, example in enumerate(examples)
    )


def _selected(spec: WorkloadSpec) -> tuple[Prompt, ...]:
    return select(spec.name, schema_of(spec.name), _table(spec), spec.prompts, spec.seed)


def _table(spec: WorkloadSpec) -> Table:
    if spec.source == "hub":
        return hub_table(spec.name, schema_of(spec.name), spec.revision)
    if spec.path is None:
        raise WorkloadError(
            f'workload {spec.name}: source "file" without a path\n  remedy:  add path = "..."'
        )
    return file_table(spec.name, spec.path)
