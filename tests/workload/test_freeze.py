"""Laws of freezing and selecting, and the bundled mini sets."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.profile import WorkloadSpec, load_profile
from draftgate.workload import Prompt, freeze, load_workload
from draftgate.workload.schemas import schema_of
from draftgate.workload.select import select
from draftgate.workload.table import Table

PROMPTS = st.lists(st.builds(Prompt, prompt_id=st.text(max_size=9), text=st.text()), max_size=5)


def gsm8k(n: int) -> Table:
    return Table("memory", ["question"], [{"question": f"q{i}"} for i in range(n)])


@given(PROMPTS, PROMPTS)
def test_hash_is_equal_exactly_for_equal_prompts(left: list[Prompt], right: list[Prompt]) -> None:
    same = freeze("a", "mini", left).workload_hash == freeze("b", "hub", right, "r").workload_hash
    assert same == (left == right)


def test_hash_is_the_documented_one() -> None:
    prompts = [Prompt(prompt_id="gsm8k-0000", text='é"\n')]
    canonical = rb'[["gsm8k-0000","\u00e9\"\n"]]'
    assert freeze("gsm8k", "mini", prompts).workload_hash == hashlib.sha256(canonical).hexdigest()


@given(st.integers(1, 60), st.integers(0, 2**32), st.data())
def test_more_prompts_extend_a_smaller_selection(rows: int, seed: int, data: st.DataObject) -> None:
    schema = schema_of("gsm8k")
    large = data.draw(st.integers(1, rows))
    small = data.draw(st.integers(1, large))
    many = select("gsm8k", schema, gsm8k(rows), large, seed)
    assert select("gsm8k", schema, gsm8k(rows), small, seed) == many[:small]
    assert len({prompt.prompt_id for prompt in many}) == large
    for prompt in many:
        row = int(prompt.prompt_id.removeprefix("gsm8k-"))
        assert prompt.text.startswith(f"q{row}\n")


def test_seed_decides_the_order() -> None:
    schema = schema_of("gsm8k")
    orders = {select("gsm8k", schema, gsm8k(50), 10, seed) for seed in range(5)}
    assert len(orders) == 5


@pytest.mark.parametrize("name", [spec.name for spec in load_profile("cpu").workloads])
def test_mini_set(name: str) -> None:
    spec = WorkloadSpec.model_validate(
        {"name": name, "source": "mini", "prompts": 8, "max_tokens": 8}
    )
    frozen = load_workload(spec)
    assert frozen == load_workload(spec)
    assert frozen.prompts[7].prompt_id == f"{name}-0007"
    assert len({prompt.text for prompt in frozen.prompts}) == 8
    fewer = load_workload(spec.model_copy(update={"prompts": 4}))
    assert fewer.prompts == frozen.prompts[:4]


def test_mini_needs_no_datasets_and_no_engine() -> None:
    code = (
        "import sys\n"
        "from draftgate.profile import WorkloadSpec\n"
        "from draftgate.workload import load_workload\n"
        "load_workload(WorkloadSpec(name='gsm8k', source='mini', prompts=2, max_tokens=1))\n"
        "print(sorted({'datasets', 'torch', 'vllm', 'transformers'} & set(sys.modules)))\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
