from __future__ import annotations

from pathlib import Path

import pytest

from draftgate.profile import ProfileError, default_profile, load_profile, locate, locate_profile

REPOSITORY = Path(__file__).resolve().parents[2]


def test_name_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate_profile("cpu") == REPOSITORY / "profiles" / "cpu.toml"


def test_working_directory_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "profiles" / "cpu.toml"
    own.parent.mkdir()
    own.write_text("")
    monkeypatch.chdir(tmp_path)
    assert locate_profile("cpu") == own


def test_installed_profiles_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "share" / "draftgate" / "profiles" / "mine.toml"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    monkeypatch.setattr(locate.sysconfig, "get_path", lambda name: str(tmp_path))
    assert locate_profile("mine") == installed


def test_path(tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text((REPOSITORY / "profiles" / "cpu.toml").read_text())
    assert load_profile(copy).name == "cpu"
    assert load_profile(str(copy)) == load_profile("cpu")


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="did you mean 'h100-qwen3-8b'") as caught:
        locate_profile("h100-qwen-8b")
    assert "cpu, cpu-bound, cpu-full" in str(caught.value)


def test_missing_path_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no such profile file"):
        locate_profile(tmp_path / "no.toml")
    with pytest.raises(ProfileError, match="is a folder"):
        locate_profile(tmp_path)


@pytest.mark.parametrize(
    ("environ", "gpu", "expected"),
    [
        ({}, False, "cpu"),
        ({}, True, "h100-gate"),
        ({"DRAFTGATE_PROFILE": "cpu-full"}, True, "cpu-full"),
        ({"DRAFTGATE_PROFILE": " "}, False, "cpu"),
        ({"DRAFTGATE_PROFILE": "auto"}, False, "cpu"),
    ],
)
def test_auto(
    environ: dict[str, str], gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "has_nvidia_gpu", lambda: gpu)
    assert default_profile(environ) == expected


def test_auto_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTGATE_PROFILE", "cpu-full")
    assert load_profile("auto").name == "cpu-full"
