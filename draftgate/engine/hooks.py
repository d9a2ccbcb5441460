"""Functions that an engine child calls before it builds its engine.

What happens in an engine before vLLM stands (interpreted kernels, a fault put back in) belongs to
rooms that this one does not know: a spec names the function, the child imports it.
"""

from __future__ import annotations

import importlib
from typing import Any

from pydantic import Field

from draftgate.engine.errors import SpecError
from draftgate.engine.records import Record


class Hook(Record):
    """``function`` as ``package.module:name``, called with ``argument`` where there is one.

    It runs in the child before the engine is built; a child that is spawned, not forked, has not
    imported vLLM by then.
    """

    function: str = Field(pattern=r"^[\w.]+:\w+$")
    argument: str | None = None

    def run(self) -> None:
        """Import and call the function. Raises SpecError where there is no such function."""
        module, name = self.function.split(":")
        try:
            function: Any = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise SpecError(
                f"hooks: cannot find {self.function}: {error}; name it as package.module:function"
            ) from error
        function(*([] if self.argument is None else [self.argument]))
