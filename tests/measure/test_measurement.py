import json
import os
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_strategies import example_control, example_request, example_round, rounds

from draftgate.engine.records import RoundRecord
from draftgate.measure.agreement import compare_outputs
from draftgate.measure.compact import pack, unpack
from draftgate.measure.record import (
    Machine,
    Measurement,
    MeasurementError,
    Provenance,
    Subject,
)

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def measurement(**changes) -> Measurement:
    arguments = {
        "subject": Subject(
            cell="llama-tiny/eagle3-k3/gsm8k/bs2",
            scenario="llama-tiny/eagle3-k3",
            workload="gsm8k",
            workload_hash="ab" * 32,
            batch_size=2,
            k=3,
            model_id="testbed:llama-tiny",
        ),
        "rounds": [example_round(), example_round(wall_s=2.5)],
        "control_rounds": [example_control(), example_control(wall_s=5.0)],
        "machine": Machine(key="box", isa_class="x86-avx2", fields={"gpu": None}),
        "provenance": Provenance(
            vllm="0.32.0",
            torch="2.13.0",
            draftgate="0.1.0",
            python="3.11",
            models={"llama-tiny": None},
        ),
        "started": START,
        "ended": START,
        "order": ("arm", "control", "control", "arm"),
        "warmup_walls_s": (3.0, 2.1),
    }
    return Measurement.build(**{**arguments, **changes})


def control_only() -> Measurement:
    subject = measurement().draftgate.subject.model_copy(update={"k": 0})
    return measurement(subject=subject, rounds=[example_control()], control_rounds=())


def test_a_control_that_wrote_nothing_is_no_control():
    silent = example_control().model_copy(update={"requests": ()})
    with pytest.raises(ValueError, match="the control wrote nothing"):
        measurement(control_rounds=[silent])


def test_equal_tokens_that_end_for_another_reason_differ():
    control = example_control()
    first, *others = control.requests
    other = "length" if first.finish_reason == "stop" else "stop"
    changed = (first.model_copy(update={"finish_reason": other}), *others)
    found = compare_outputs(control.model_copy(update={"requests": changed}), control)
    assert not found.equal
    (difference,) = found.differences
    assert (difference.token, difference.control_token) == (None, None)
    assert difference.position == len(first.output_token_ids)


def test_bench_keys_are_totals_over_the_timed_rounds():
    data = json.loads(measurement().to_json())
    assert data["duration"] == 4.5
    assert data["completed"] == 4
    assert data["total_output_tokens"] == 20
    assert data["output_throughput"] == pytest.approx(20 / 4.5)
    assert data["output_lens"] == [6, 4, 6, 4]
    assert data["spec_decode_acceptance_length"] == 3.0
    assert data["spec_decode_acceptance_rate"] == pytest.approx(100 * 6 / 9)
    assert data["spec_decode_num_drafts"] == 6
    assert data["spec_decode_per_position_acceptance_rates"] == pytest.approx([1, 2 / 3, 1 / 3])


def test_keys_of_speculative_decoding_are_absent_where_it_is_off():
    data = json.loads(control_only().to_json())
    assert not [name for name in data if name.startswith("spec_decode")]
    assert "accepted_tokens" not in data["draftgate"]["exact"]
    assert "acceptance_length" not in data["draftgate"]["acceptance"]
    assert "speedup" not in data["draftgate"]["timed"]


def test_the_block_holds_metrics_and_the_comparison_with_the_control():
    block = measurement().draftgate
    assert block.exact.accepted_tokens == 6
    assert block.acceptance.tokens_per_step == 2.0
    assert block.timed["speedup"] == (2.0, 2.0)
    assert block.outputs_equal_control is not None
    assert block.outputs_equal_control.equal


def test_a_written_file_reads_back_equal(tmp_path):
    for name, original in [("arm", measurement()), ("control", control_only())]:
        path = tmp_path / "cells" / f"{name}.json"
        original.write(path)
        assert Measurement.read(path) == original
    assert sorted(os.listdir(tmp_path / "cells")) == ["arm.json", "control.json"]


def test_an_output_that_ended_too_early_is_read_back(tmp_path):
    short = example_round(requests=[example_request(output_token_ids=(5, 6))])
    long = example_round(requests=[example_request(output_token_ids=(5, 6, 7))])
    agreement = compare_outputs(short, long)
    assert agreement.differences[0].token is None
    for found in (agreement, agreement.weighed({0: None}, 0.3), agreement.weighed({0: 0.1}, 0.3)):
        block = measurement().draftgate.model_copy(update={"outputs_equal_control": found})
        original = measurement().model_copy(update={"draftgate": block})
        original.write(tmp_path / "cell.json")
        assert Measurement.read(tmp_path / "cell.json") == original


def test_token_ids_are_stored_once():
    data = json.loads(measurement().to_json())["draftgate"]
    stored = [
        "output_token_ids" in request
        for record in (*data["rounds"], *data["control_rounds"])
        for request in record["requests"]
    ]
    assert stored == [True, True] + [False] * 6


def test_prompts_are_stored_once_and_read_back(tmp_path):
    told = example_round(requests=[example_request(prompt_token_ids=tuple(range(10)))])
    original = measurement(rounds=[told, told], control_rounds=())
    assert original.to_json().count("prompt_token_ids") == 1
    original.write(tmp_path / "cell.json")
    first, second = Measurement.read(tmp_path / "cell.json").draftgate.rounds
    assert first.requests[0].prompt_token_ids == second.requests[0].prompt_token_ids
    assert first.requests[0].prompt_token_ids == tuple(range(10))


def test_a_record_of_schema_1_is_read_without_prompts(tmp_path):
    data = json.loads(measurement().to_json())
    data["draftgate"]["schema_version"] = 1
    for record in (*data["draftgate"]["rounds"], *data["draftgate"]["control_rounds"]):
        for request in record["requests"]:
            request.pop("prompt_token_ids", None)
    (tmp_path / "old.json").write_text(json.dumps(data))
    read = Measurement.read(tmp_path / "old.json").draftgate
    assert read.rounds == measurement().draftgate.rounds


@given(st.lists(rounds(k=2), max_size=4))
def test_packing_loses_nothing(records):
    plain = json.loads(json.dumps(pack(records)))
    assert [RoundRecord.model_validate(r) for r in unpack(plain)] == records


def edit(**changes):
    data = json.loads(measurement().to_json())
    data["draftgate"].update(changes)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "key draftgate is missing"),
        ("{}", "key draftgate is missing"),
        (edit(schema_version="x"), "schema_version"),
        (edit(schema_version=99), "newer than this draftgate reads (up to 2); upgrade"),
        (edit(rounds=7), "draftgate.rounds"),
        (edit(rounds=[{}]), "draftgate.rounds"),
        (edit(rounds=[]), "draftgate.control_rounds"),
        (edit(subject={}), "draftgate.subject"),
        (edit(surprise=1), "draftgate.surprise"),
        (
            measurement().to_json().replace('"prompt_token_ids":[]', '"prompt_token_ids":[5]', 1),
            "1 token ids and prompt_tokens 10",
        ),
        (measurement().to_json().replace("[1,2,3,4,5,6]", "[1,2,3,4,5,8]"), "outputs_hash"),
    ],
)
def test_a_bad_file_gets_one_clear_error(tmp_path, text, said):
    path = tmp_path / "cell.json"
    path.write_text(text)
    with pytest.raises(MeasurementError) as caught:
        Measurement.read(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MeasurementError, match=r"gone\.json: No such file"):
        Measurement.read(tmp_path / "gone.json")


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "cell.json"
    measurement().write(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        control_only().write(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["cell.json"]


def test_nothing_measured_is_refused():
    with pytest.raises(ValueError, match="nothing was measured"):
        measurement(rounds=[])
    with pytest.raises(ValueError, match="a round without duration"):
        measurement(control_rounds=[example_control(wall_s=0.0)])


@pytest.mark.parametrize(
    ("tokens", "position", "token", "control"),
    [
        ((1, 2, 9, 4, 5, 6), 2, 9, 3),
        ((1, 2, 3), 3, None, 4),
        ((1, 2, 3, 4, 5, 6, 7), 6, 7, None),
    ],
)
def test_the_first_difference_from_the_control_is_located(tokens, position, token, control):
    changed = example_request(output_token_ids=tokens)
    agreement = compare_outputs(
        example_round(requests=(changed, example_round().requests[1])), example_control()
    )
    assert not agreement.equal
    assert (agreement.identical, agreement.requests) == (1, 2)
    [difference] = agreement.differences
    assert (difference.prompt_id, difference.position) == ("p0", position)
    assert (difference.token, difference.control_token) == (token, control)


def test_a_missing_request_makes_outputs_unequal():
    agreement = compare_outputs(
        example_round(), example_control(requests=example_control().requests[:1])
    )
    assert not agreement.equal
