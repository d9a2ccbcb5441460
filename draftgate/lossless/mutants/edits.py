"""Edits of a function's source, in memory.

The edited source is compiled with the function's own globals and takes its place wherever the
defining module holds it. An edit that does not apply exactly once is an error: the installed vLLM
has other code, and the mutant needs another look.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from draftgate.lossless.mutants.mutant import MutantError

Apply = Callable[[], None]


def edited(where: str, *changes: tuple[str, str]) -> Apply:
    """Replaces each ``old`` text by ``new`` in the function ``where`` (``module:Class.name``).

    ``old`` must stand in the source exactly once. Functions that call `super()` without arguments
    cannot be edited. Applying raises MutantError where vLLM has other code.
    """

    def apply() -> None:
        module, owner, name = _find(where)
        installed = getattr(owner, name)
        function = _function(installed, where)
        source = textwrap.dedent(inspect.getsource(function))
        for old, new in changes:
            if source.count(old) != 1:
                raise MutantError(
                    f"{where} contains {old!r} {source.count(old)} times, not once: this vLLM has "
                    f"other code; adapt the mutant"
                )
            source = source.replace(old, new)
        setattr(owner, name, replacement := _compiled(function, source, where))
        _relaunch(module, installed, getattr(owner, name, replacement))

    return apply


def wrapped(where: str, wrap: Callable[[Any], Any]) -> Apply:
    """Replaces the function ``where`` by what ``wrap`` makes of it."""

    def apply() -> None:
        _, owner, name = _find(where)
        setattr(owner, name, wrap(getattr(owner, name)))

    return apply


def replaced(where: str, value: Callable[[], Any]) -> Apply:
    """Replaces the attribute ``where`` by ``value()``."""
    return wrapped(where, lambda _installed: value())


def _find(where: str) -> tuple[ModuleType, Any, str]:
    module_name, path = where.split(":")
    *owners, name = path.split(".")
    try:
        module = importlib.import_module(module_name)
        owner: Any = module
        for part in owners:
            owner = getattr(owner, part)
        getattr(owner, name)
    except (ImportError, AttributeError) as error:
        raise MutantError(f"this vLLM has no {where}: {error}") from error
    return module, owner, name


def _function(installed: Any, where: str) -> FunctionType:
    """The Python function behind a method, a kernel or a decorated function."""
    function = inspect.unwrap(getattr(installed, "fn", installed))
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        raise MutantError(f"{where} has no Python source: it is a {type(installed).__name__}")
    return function


def _compiled(function: FunctionType, source: str, where: str) -> Any:
    """``source`` as the object that its definition makes, decorators included."""
    filename = f"<mutant of {where}>"
    # Triton reads a kernel's source again, through the same cache as tracebacks.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), function.__globals__, namespace)
    return namespace[function.__name__]


def _relaunch(module: ModuleType, installed: Any, replacement: Any) -> None:
    """vLLM's launchers hold the kernels that they launch: give them the new one."""
    for value in list(vars(module).values()):
        if getattr(value, "__dict__", {}).get("kernel") is installed:
            value.kernel = replacement
            value.__dict__.pop("_kernel_arg_names", None)
