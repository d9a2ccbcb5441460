from __future__ import annotations

from collections import Counter

import pytest
from fake_engines import KV_BYTES_PER_TOKEN, FakeEngines, died

from draftgate.engine.errors import EngineError
from draftgate.measure.arms import Arms
from draftgate.measure.record import Machine, Provenance
from draftgate.measure.session import MeasureError, Session
from draftgate.profile.load import parse_profile
from draftgate.workload.frozen import Prompt, freeze

NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
PROFILE = {
    "schema_version": 1,
    "name": "small",
    "plan": {"rounds": 2, "warmup_max": 2, "warmup_tolerance": 0.1},
    "workloads": [
        {"name": "gsm8k", "source": "mini", "prompts": 3, "max_tokens": 64},
        {"name": "aime", "source": "mini", "prompts": 3, "max_tokens": 64},
    ],
    "matrix": [
        {"workloads": ["gsm8k"], "batch_sizes": [1, 2]},
        {"workloads": ["aime"], "batch_sizes": [2], "timed": False},
    ],
    "targets": [
        {
            "name": "tiny",
            "model": "testbed:llama-tiny",
            "variants": [{"name": "none"}, {"name": "ngram-k3", "speculative_config": NGRAM}],
        }
    ],
}


class Watcher:
    """Remembers what it was told."""

    def __init__(self):
        self.told = []

    def round_done(self, cell, arm, record):
        self.told.append((cell.id, arm))


class Setting:
    """A session on fake engines, with everything around it."""

    def __init__(self, profile=PROFILE, resident=None):
        self.engines = FakeEngines()
        self.arms = Arms(self.engines.make, resident)
        self.watcher = Watcher()
        self.loaded = Counter()
        profile = parse_profile(profile, "small.toml")
        self.cells = {cell.id: cell for cell in profile.cells()}
        self.session = Session(profile, self.arms, self.load, self.describe, self.watcher)

    def load(self, spec):
        self.loaded[spec.name] += 1
        prompts = [Prompt(prompt_id=f"p{i}", text=f"{spec.name} {i}") for i in range(spec.prompts)]
        return freeze(spec.name, spec.source, prompts)

    def describe(self, scenario, info):
        machine = Machine(key="box", isa_class=info.isa_class)
        return machine, Provenance(vllm=info.vllm, torch="2", draftgate="0", python="3")

    def rounds_of(self, scenario):
        return sum(len(host.requests) for host in self.engines if host.label == scenario)


ARM, CONTROL = "tiny/ngram-k3/gsm8k/bs2", "tiny/none/gsm8k/bs2"
UNTIMED, UNTIMED_CONTROL = "tiny/ngram-k3/aime/bs2", "tiny/none/aime/bs2"


@pytest.fixture
def setting():
    return Setting()


def test_a_timed_cell_is_measured_beside_its_control(setting):
    measured = setting.session.measured(setting.cells[ARM])
    block = measured.measurement.draftgate
    assert measured.broken == ()
    assert block.order == ("control", "arm", "arm", "control")
    assert len(block.warmup_walls_s) == len(block.control_warmup_walls_s) == 2
    assert block.outputs_equal_control.equal
    assert {"output_throughput", "speedup"} <= block.timed.keys()
    assert block.subject.cell == ARM
    assert block.subject.workload_hash == setting.load(setting.cells[ARM].workload).workload_hash
    assert block.started < block.ended
    assert (setting.rounds_of("tiny/none"), setting.rounds_of("tiny/ngram-k3")) == (4, 4)


def test_a_full_untimed_round_warms_its_batch_size(setting):
    untimed = setting.session.measured(setting.cells[UNTIMED]).measurement.draftgate
    block = setting.session.measured(setting.cells[ARM]).measurement.draftgate
    assert block.warmup_walls_s == tuple(r.wall_s for r in untimed.rounds)
    assert (setting.rounds_of("tiny/none"), setting.rounds_of("tiny/ngram-k3")) == (3, 3)


def test_a_control_cell_needs_no_other_engine(setting):
    block = setting.session.measured(setting.cells[CONTROL]).measurement.draftgate
    assert block.outputs_equal_control is None
    assert "speedup" not in block.timed
    assert setting.engines.running == ["tiny/none"]


def test_a_cell_is_measured_once(setting):
    first = setting.session.measured(setting.cells[ARM])
    assert setting.session.measured(setting.cells[ARM]) is first
    assert setting.rounds_of("tiny/ngram-k3") == 4
    assert setting.session.all_measured() == (first,)


def test_an_untimed_cell_takes_one_round_and_its_controls_own(setting):
    measured = setting.session.measured(setting.cells[UNTIMED])
    block = measured.measurement.draftgate
    assert block.timed == {}
    assert block.warmup_walls_s == ()
    assert block.outputs_equal_control.equal
    assert (setting.rounds_of("tiny/none"), setting.rounds_of("tiny/ngram-k3")) == (1, 1)
    setting.session.measured(setting.cells[UNTIMED_CONTROL])
    assert setting.rounds_of("tiny/none") == 1
    cells = [m.cell.id for m in setting.session.all_measured()]
    assert cells == [UNTIMED_CONTROL, UNTIMED]


def test_an_engine_is_warmed_up_once_at_a_batch_size(setting):
    for cell in setting.cells.values():
        setting.session.measured(cell)
    warmed = Counter(cell for cell, arm in setting.watcher.told if arm == "warm-up")
    assert warmed == {
        f"tiny/{variant}/gsm8k/bs{size}": 2 for variant in ("none", "ngram-k3") for size in (1, 2)
    }


def test_an_engine_that_was_started_again_is_cold():
    setting = Setting(resident=1)  # the two arms push each other out
    setting.session.measured(setting.cells[CONTROL])
    setting.session.measured(setting.cells[ARM])
    warmed = Counter(cell for cell, arm in setting.watcher.told if arm == "warm-up")
    # Its own cell; before the arm's rounds; and for the round behind which it had made room.
    assert warmed == {CONTROL: 6, ARM: 4}


def test_the_watcher_hears_of_every_round(setting):
    setting.session.measured(setting.cells[ARM])
    assert setting.watcher.told == [
        *[(ARM, "warm-up")] * 2,
        *[(CONTROL, "warm-up")] * 2,
        (ARM, "control"),
        (ARM, "arm"),
        (ARM, "arm"),
        (ARM, "control"),
    ]


def staged_profile():
    return {**PROFILE, "plan": {**PROFILE["plan"], "stages": True}}


def test_a_matrix_row_may_do_without_stages():
    rows = [{**row, "stages": False} for row in PROFILE["matrix"]]
    setting = Setting({**staged_profile(), "matrix": rows})
    assert setting.session.measured(setting.cells[ARM]).measurement.draftgate.stages is None


def test_stages_take_a_round_before_the_timed_ones_and_one_after():
    setting = Setting(staged_profile())
    measured = setting.session.measured(setting.cells[ARM])
    assert measured.broken == ()
    block = measured.measurement.draftgate
    assert block.stages.shares["draft"] > 0
    assert {"draft_ms", "verify_ms"} <= block.timed.keys()
    assert len(block.rounds) == 2
    assert setting.watcher.told[-1] == (ARM, "stages")
    [arm] = [h for h in setting.engines if h.label == "tiny/ngram-k3"]
    assert [r.stages for r in arm.requests] == [False, False, True, False, False, True]


def test_a_cell_that_is_not_timed_has_no_stages():
    setting = Setting(staged_profile())
    assert setting.session.measured(setting.cells[UNTIMED]).measurement.draftgate.stages is None
    assert setting.rounds_of("tiny/ngram-k3") == 1


def test_a_staged_round_with_other_tokens_breaks_an_identity():
    setting = Setting(staged_profile())

    def drift(record):
        if record.stages is None:
            return record
        first, *others = record.requests
        changed = first.model_copy(update={"finish_reason": "length"})
        return record.model_copy(update={"requests": (changed, *others)})

    setting.engines["tiny/ngram-k3"].alter = drift
    broken = setting.session.measured(setting.cells[ARM]).broken
    assert {b.identity for b in broken} == {"rounds_agree"}


def test_the_engine_s_memory_is_kept(setting):
    memory = setting.session.measured(setting.cells[ARM]).measurement.draftgate.memory
    assert memory.kv_bytes_per_token == KV_BYTES_PER_TOKEN


def test_a_caller_may_time_the_rounds_itself(setting):
    cell = setting.cells[ARM]
    with setting.session.playing(cell) as run:
        run.before()
        run.play()
        run.after()
    block = setting.session.measured(cell).measurement.draftgate
    assert block.order == ("control", "arm", "arm", "control")


@pytest.mark.parametrize("engine", ["tiny/none", "tiny/ngram-k3"])
@pytest.mark.parametrize("at", range(5))
def test_a_cell_is_tried_once(setting, engine, at):
    setting.engines[engine].fails_at = {at: EngineError(engine, "round", "no", fatal=at == 0)}
    cell = setting.cells[ARM]
    errors = []
    for _ in range(2):
        with pytest.raises(EngineError) as caught:
            setting.session.measured(cell)
        errors.append(caught.value)
    with pytest.raises(EngineError), setting.session.playing(cell):
        pass
    assert errors[0] is errors[1]
    assert setting.session.all_measured() == ()
    assert setting.rounds_of(engine) == at


def test_a_control_that_failed_fails_the_cells_that_need_it(setting):
    setting.engines["tiny/none"].fails_at = {1: died("tiny/none")}
    for cell in (UNTIMED, UNTIMED_CONTROL, ARM):
        with pytest.raises(EngineError, match="tiny/none"):
            setting.session.measured(setting.cells[cell])


def test_an_interruption_is_no_failure_of_the_cell(setting):
    setting.engines["tiny/ngram-k3"].fails_at = {1: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        setting.session.measured(setting.cells[ARM])
    setting.session.measured(setting.cells[ARM])


def test_broken_identities_are_kept_with_the_measurement(setting):
    setting.engines["tiny/ngram-k3"].alter = lambda r: r.model_copy(update={"counters": None})
    [broken] = {b.identity for b in setting.session.measured(setting.cells[ARM]).broken}
    assert broken == "one_token_without_sd"


def test_the_controls_broken_identities_count_too(setting):
    setting.engines["tiny/none"].alter = lambda r: r.model_copy(update={"steps": 1})
    broken = setting.session.measured(setting.cells[ARM]).broken
    assert {b.identity for b in broken} == {"steps_cover_outputs"}
    assert all(b.detail.startswith("control: round") for b in broken)


def test_rounds_that_differ_are_broken(setting):
    tokens = iter(range(100))

    def drift(record):
        first, *others = record.requests
        output = (next(tokens), *first.output_token_ids[1:])
        changed = first.model_copy(update={"output_token_ids": output})
        return record.model_copy(update={"requests": (changed, *others)})

    setting.engines["tiny/ngram-k3"].alter = drift
    measured = setting.session.measured(setting.cells[ARM])
    assert "rounds_agree" in {b.identity for b in measured.broken}
    assert not measured.measurement.draftgate.outputs_equal_control.equal


@pytest.mark.parametrize("change", [{"requests": ()}, {"wall_s": 0.0}])
def test_rounds_that_make_no_measurement_are_one_clear_error(setting, change):
    setting.engines["tiny/ngram-k3"].alter = lambda record: record.model_copy(update=change)
    with pytest.raises(MeasureError, match=UNTIMED):
        setting.session.measured(setting.cells[UNTIMED])


def test_a_round_is_what_the_profile_says():
    profile = {**PROFILE, "seed": 7}
    profile["plan"] = {**PROFILE["plan"], "batch_mode": "replicated"}
    setting = Setting(profile)
    setting.session.measured(setting.cells[ARM])
    [host] = [h for h in setting.engines if h.label == "tiny/ngram-k3"]
    request = host.requests[-1]
    assert [p.prompt_id for p in request.prompts] == ["p0", "p1", "p2"]
    assert (request.batch_size, request.max_tokens) == (2, 64)
    assert (request.batch_mode, request.seed, request.temperature) == ("replicated", 7, 0.0)
