from __future__ import annotations

import json
from pathlib import Path

import pytest

from draftgate.engine.errors import SpecError
from draftgate.engine.models import all_local, check_vocabularies, is_local, resolve_models
from draftgate.engine.spec import EngineSpec


def checkpoint(folder: Path, vocab_size: int) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"vocab_size": vocab_size}))
    return str(folder)


def with_draft(target: str, draft: str, **config: object) -> EngineSpec:
    return EngineSpec(
        model=target, speculative_config={"method": "draft_model", "model": draft, **config}
    )


@pytest.mark.parametrize("name", ["/a/b", "./a", "~/a", "a/b/c", "testbed:llama-tiny"])
def test_local_names(name: str) -> None:
    assert is_local(name)


def test_a_hub_id_is_kept() -> None:
    spec = EngineSpec(model="meta-llama/Llama-3.1-8B-Instruct")
    assert not all_local(spec)
    assert resolve_models(spec) == spec


def test_a_missing_folder_names_key_and_path(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^model = '.*/gone': no folder .*/gone; correct"):
        resolve_models(EngineSpec(model=str(tmp_path / "gone")))
    target = checkpoint(tmp_path / "target", 8)
    with pytest.raises(SpecError, match=r'^speculative_config\["model"\] = .*no folder'):
        resolve_models(with_draft(target, str(tmp_path / "gone")))


def test_a_folder_without_config_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"holds no config\.json"):
        resolve_models(EngineSpec(model=str(tmp_path)))


def test_a_missing_tokenizer(tmp_path: Path) -> None:
    target = checkpoint(tmp_path / "target", 8)
    with pytest.raises(SpecError, match=r"^tokenizer = "):
        resolve_models(EngineSpec(model=target, tokenizer=str(tmp_path / "gone")))


def test_a_draft_with_another_vocabulary_names_both(tmp_path: Path) -> None:
    target, draft = checkpoint(tmp_path / "target", 8), checkpoint(tmp_path / "draft", 9)
    with pytest.raises(SpecError, match=r"vocabulary of 9 tokens, its target .* one of 8"):
        check_vocabularies(with_draft(target, draft))
    check_vocabularies(with_draft(target, target))
    check_vocabularies(with_draft(target, draft, use_heterogeneous_vocab=True))
    check_vocabularies(with_draft(target, "org/draft"))
