from __future__ import annotations

import sys

import pytest
from pydantic import ValidationError

from draftgate.engine.environment import child_environment
from draftgate.engine.errors import SpecError
from draftgate.engine.hooks import Hook
from draftgate.engine.spec import EngineSpec

MODULE = """
calls = []

def note(*arguments):
    calls.append(arguments)
"""


@pytest.fixture
def hooked(tmp_path, monkeypatch):
    (tmp_path / "hooked_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda: sys.modules["hooked_module"].calls
    sys.modules.pop("hooked_module", None)


def test_function_is_called_with_its_argument(hooked):
    Hook(function="hooked_module:note").run()
    Hook(function="hooked_module:note", argument="x").run()
    assert hooked() == [(), ("x",)]


@pytest.mark.parametrize("function", ["no_such_module:note", "hooked_module:no_such_function"])
def test_unknown_function_is_a_message(hooked, function):
    with pytest.raises(SpecError, match=rf"hooks: cannot find {function}.*package.module:function"):
        Hook(function=function).run()


@pytest.mark.parametrize("function", ["module.name", "a:b:c", "a b:c", ""])
def test_malformed_name_is_refused(function):
    with pytest.raises(ValidationError, match="function"):
        Hook(function=function)


@pytest.mark.parametrize(("runner", "value"), [("v1", "0"), ("v2", "1"), (None, None)])
def test_runner_is_asked_of_vllm(runner, value):
    spec = EngineSpec(model="testbed:llama-tiny", runner=runner)
    env = child_environment({}, spec, placement=None, openmp=None)
    assert env.get("VLLM_USE_V2_MODEL_RUNNER") == value
    assert "VLLM_USE_V2_MODEL_RUNNER" not in child_environment(
        {}, EngineSpec(model="testbed:llama-tiny"), placement=None, openmp=None
    )
