"""Finding checkpoints, and refusing what cannot work before vLLM is imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from draftgate.engine.errors import SpecError
from draftgate.engine.spec import EngineSpec

TESTBED_PREFIX = "testbed:"


def is_local(model: str) -> bool:
    """Whether ``model`` names a folder or the testbed rather than a hub id."""
    looks_local = model.startswith((TESTBED_PREFIX, "/", "./", "../", "~"))
    return looks_local or model.count("/") > 1 or Path(model).exists()


def all_local(spec: EngineSpec) -> bool:
    """Whether ``spec`` needs nothing from the hub."""
    names = (spec.model, spec.tokenizer, spec.draft_model)
    return all(is_local(name) for name in names if name is not None)


def resolve_models(spec: EngineSpec) -> EngineSpec:
    """``spec`` with folders in place of `testbed:` names and ``~``.

    Raises:
        SpecError: a folder is missing or holds no config.json; an unknown testbed name.
    """
    changes: dict[str, Any] = {"model": _resolve(spec.model, "model")}
    if spec.tokenizer is not None:
        changes["tokenizer"] = _resolve(spec.tokenizer, "tokenizer", needs="tokenizer.json")
    if spec.draft_model is not None and spec.speculative_config is not None:
        draft = _resolve(spec.draft_model, 'speculative_config["model"]')
        changes["speculative_config"] = {**spec.speculative_config, "model": draft}
    return spec.model_copy(update=changes)


def check_vocabularies(spec: EngineSpec) -> None:
    """Refuse a proposer whose vocabulary is not the target's; hub ids are left to vLLM.

    Raises:
        SpecError: both folders are at hand and their `vocab_size` differs.
    """
    config = spec.speculative_config or {}
    if spec.draft_model is None or config.get("use_heterogeneous_vocab"):
        return
    target, draft = _vocab_size(spec.model), _vocab_size(spec.draft_model)
    if target is not None and draft is not None and target != draft:
        raise SpecError(
            f'speculative_config["model"] {spec.draft_model} has a vocabulary of {draft} tokens, '
            f"its target {spec.model} one of {target}: use a draft trained for this target"
        )


def _resolve(name: str, key: str, needs: str = "config.json") -> str:
    path = Path(_testbed_folder(name, key) if name.startswith(TESTBED_PREFIX) else name)
    if not is_local(name):
        return name
    path = path.expanduser()
    if not path.is_dir():
        raise SpecError(f"{key} = {name!r}: no folder {path}; correct the path, or give a hub id")
    if not (path / needs).is_file():
        raise SpecError(f"{key} = {name!r}: {path} holds no {needs}, so it is no checkpoint")
    return str(path)


def _testbed_folder(name: str, key: str) -> str:
    from draftgate.testbed import family

    try:
        return str(family.resolve(name))
    except Exception as error:
        raise SpecError(f"{key} = {name!r}: {error}") from error


def _vocab_size(model: str) -> int | None:
    config = _config_in(Path(model)) or {}
    size = config.get("vocab_size", config.get("text_config", {}).get("vocab_size"))
    return size if isinstance(size, int) else None


def read_config(name: str, revision: str | None = None) -> dict[str, Any] | None:
    """A checkpoint's `config.json`; None where it is not at hand.

    A hub id is looked up in the local cache, where an engine that ran has put it.

    Raises:
        SpecError: as `resolve_models`.
    """
    if is_local(name):
        return _config_in(Path(_resolve(name, "model")))
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json", revision=revision)
    return _config_in(Path(found).parent) if isinstance(found, str) else None


def _config_in(folder: Path) -> dict[str, Any] | None:
    try:
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        return None
    return config if isinstance(config, dict) else None
