from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from draftgate.engine.logs import TAIL_LINES, ChildLog, describe, is_consequence, root_cause

VLLM_LOG = """\
(EngineCore pid=41) INFO 11-29 18:06:33 [cpu_model_runner.py:68] Starting to load model
(EngineCore pid=41) ERROR 11-29 18:06:34 [core.py:900] EngineCore failed to start.
(EngineCore pid=41) ERROR 11-29 18:06:34 [core.py:900] Traceback (most recent call last):
(EngineCore pid=41) ERROR 11-29 18:06:34 [core.py:900]   File "core.py", line 874, in run
(EngineCore pid=41) ERROR 11-29 18:06:34 [core.py:900] KeyError: 'layers.0.fc.weight'
(EngineCore pid=41) Process EngineCore:
Traceback (most recent call last):
  File "llm.py", line 1, in <module>
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""

PYDANTIC_LOG = """\
pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
  Value error, The checkpoint has model type `foo` [type=value_error]
    For further information visit the documentation
"""


def test_the_cause_is_found_above_its_consequence() -> None:
    assert root_cause(VLLM_LOG) == "KeyError: 'layers.0.fc.weight'"


def test_pydantic_puts_the_reason_on_the_next_line() -> None:
    cause = root_cause(PYDANTIC_LOG)
    assert cause is not None
    assert cause.endswith(
        "ModelConfig Value error, The checkpoint has model type `foo` [type=value_error]"
    )


@pytest.mark.parametrize("log", ["", "INFO all is well\n", "Traceback (most recent call last):\n"])
def test_no_cause(log: str) -> None:
    assert root_cause(log) is None


def test_describe_reduces_validation_errors_to_their_reason() -> None:
    class Config(BaseModel):
        k: int

        @field_validator("k")
        @classmethod
        def positive(cls, k: int) -> int:
            raise ValueError("k must be\n  positive")

    with pytest.raises(ValidationError) as caught:
        Config(k=0)
    assert describe(caught.value) == "ValidationError: k must be positive"
    assert describe(RuntimeError("two\nlines")) == "RuntimeError: two lines"


def test_consequences() -> None:
    assert is_consequence("RuntimeError: Engine core initialization failed. See root cause above.")
    assert not is_consequence("RuntimeError: out of memory")


def test_a_log_begins_where_the_child_does(tmp_path: Path) -> None:
    path = tmp_path / "new" / "engine.log"
    first = ChildLog(path)
    assert first.tail() == ""
    path.write_text("earlier\n")
    log = ChildLog(path)
    with path.open("a") as file:
        file.writelines(f"line {number}\n" for number in range(100))
    assert log.text().startswith("line 0\n")
    assert len(log.tail().splitlines()) == TAIL_LINES
    assert log.tail().endswith("line 99")
