"""From `auto|NAME|PATH` to a file."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from draftgate.profile.errors import ProfileError
from draftgate.profile.hints import closest

PROFILE_VARIABLE = "DRAFTGATE_PROFILE"
CPU_PROFILE = "cpu"
GPU_PROFILE = "h100-gate"


def locate_profile(name_or_path: str | Path) -> Path:
    """The file of a profile. Raises `ProfileError` naming the known profiles."""
    wanted = default_profile() if str(name_or_path) == "auto" else str(name_or_path)
    path = Path(wanted).expanduser()
    if _looks_like_path(wanted):
        return _existing(path)
    for folder in profile_folders():
        if (found := folder / f"{wanted}.toml").is_file():
            return found
    raise _unknown(wanted)


def default_profile(environ: Mapping[str, str] | None = None) -> str:
    """What `auto` means: the environment's choice, else one for the hardware at hand."""
    chosen = (os.environ if environ is None else environ).get(PROFILE_VARIABLE, "").strip()
    if chosen and chosen != "auto":
        return chosen
    return GPU_PROFILE if has_nvidia_gpu() else CPU_PROFILE


def has_nvidia_gpu() -> bool:
    """Whether the machine shows an NVIDIA device or its tool; asks no library."""
    return Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi") is not None


def profile_folders() -> tuple[Path, ...]:
    """Where names are looked up: the working directory, the checkout, the installation."""
    folders = (
        Path.cwd() / "profiles",
        Path(__file__).resolve().parents[2] / "profiles",
        Path(sysconfig.get_path("data")) / "share" / "draftgate" / "profiles",
    )
    return tuple(dict.fromkeys(folders))


def known_profiles() -> tuple[str, ...]:
    """Names that `locate_profile` finds, sorted."""
    return tuple(sorted({f.stem for folder in profile_folders() for f in folder.glob("*.toml")}))


def _looks_like_path(text: str) -> bool:
    return text.endswith(".toml") or "/" in text or os.sep in text


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    problem = "is a folder, not a profile file" if path.is_dir() else "no such profile file"
    raise ProfileError(str(path), "", problem, allowed=known_profiles(), remedy=_REMEDY)


def _unknown(name: str) -> ProfileError:
    known = known_profiles()
    folders = ", ".join(str(folder) for folder in profile_folders())
    guess = closest(name, known)
    return ProfileError(
        f"profile {name!r}",
        "",
        "no such profile",
        found=f"no {name}.toml in {folders}",
        allowed=known or "no profile was found at all",
        remedy=(f"did you mean {guess!r}? " if guess else "") + _REMEDY,
    )


_REMEDY = f"give --profile (or {PROFILE_VARIABLE}) a known name, or the path of a .toml file"
