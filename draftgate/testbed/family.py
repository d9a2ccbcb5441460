"""Where the tiny family lives, and the paths that `testbed:NAME` stands for."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

SCHEME = "testbed:"
STORED = ("llama-tiny", "llama-tiny-draft", "llama-tiny-eagle", "llama-tiny-eagle3")
ASSEMBLED = "glm-tiny"
MTP_PART = "glm-tiny-mtp"
NAMES = (*STORED, ASSEMBLED)


class TestbedError(Exception):
    """A testbed name or folder that cannot be used; says how to mend it."""

    __test__ = False  # pytest collects classes named Test*


def root() -> Path:
    """The family's folder: ``DRAFTGATE_TESTBED`` or the one shipped with the package."""
    return Path(os.environ.get("DRAFTGATE_TESTBED") or Path(__file__).parent / "models")


def resolve(model: str) -> str:
    """Path of ``testbed:NAME``; any other model name is returned as it is.

    Raises:
        TestbedError: an unknown name, or a folder without that model.
    """
    if not model.startswith(SCHEME):
        return model
    name = model.removeprefix(SCHEME)
    if name not in NAMES:
        raise TestbedError(f"unknown testbed model {name!r}; there are {', '.join(NAMES)}")
    return str(_assembled() if name == ASSEMBLED else _stored(name))


def revision() -> str:
    """Digest of the family's weights and configurations, 12 hex digits: the models' revision."""
    digest = hashlib.sha256()
    for name in (*STORED, MTP_PART):
        for path in sorted(_stored(name).iterdir()):
            digest.update(f"{name}/{path.name}".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _stored(name: str) -> Path:
    folder = root() / name
    if not (folder / "model.safetensors").exists():
        raise TestbedError(
            f"{folder} holds no model.safetensors; set DRAFTGATE_TESTBED to a built family, "
            "or run `make testbed`"
        )
    return folder


def _assembled() -> Path:
    """The GLM twin, assembled once per version of the family in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "draftgate" / f"{ASSEMBLED}-{revision()}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".partial-"))
        assemble(partial)
        try:
            partial.rename(folder)
        except OSError:  # another process was faster; its result is the same
            shutil.rmtree(partial)
    return folder


def assemble(folder: Path) -> None:
    """Write the GLM twin into ``folder``."""
    from safetensors.torch import load_file

    from draftgate.testbed import export, glm

    target, mtp = (
        load_file(_stored(name) / "model.safetensors") for name in ("llama-tiny", MTP_PART)
    )
    export.write_checkpoint(folder, glm.config(), glm.weights(target, mtp), root() / "llama-tiny")
