"""kill -9 while baselines are written: the old file or the new one, whole, and nobody waits."""

import os
import random
import signal
import time
from multiprocessing import get_context

import pytest
from baseline_examples import BOX, CELL, exact, request, timed

from draftgate.baseline.store import BaselineStore

KILLS = 12
FACTORS = (1.0, 1.3)


def write_for_ever(root, begun):
    store = BaselineStore(root)
    begun.set()
    for i in range(10**9):
        store.update([timed(factor=FACTORS[i % 2]), exact(decode_steps=700 + i)], again())


def again():
    return request(accept_regression="the test says so")


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_writer_leaves_whole_files_and_no_lock(tmp_path, seed):
    store = BaselineStore(tmp_path)
    store.update([timed(), exact()], request())
    context = get_context("fork")
    begun = context.Event()
    writer = context.Process(target=write_for_ever, args=(tmp_path, begun))
    writer.start()
    begun.wait(10)
    time.sleep(random.Random(seed).uniform(0.001, 0.03))
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    found = store.timed(CELL, BOX)
    assert found.metrics["output_throughput"].median in (100.0, 130.0)
    assert store.exact(CELL, "x86-avx2-fp32").metrics.decode_steps >= 700
    decisions = store.update([timed(factor=2.0), exact(decode_steps=1)], again())
    assert {d.action for d in decisions} == {"written"}
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["eagle3-k3.json"] * 2


def test_what_a_killed_writer_left_beside_a_file_is_swept(tmp_path):
    store = BaselineStore(tmp_path)
    store.update([timed()], request())
    left = tmp_path / BOX / "llama-tiny" / ".eagle3-k3.json.x1y2z3"
    left.write_text('{"half": ')
    assert store.timed(CELL, BOX) is not None
    store.update([timed(factor=1.3)], request())
    assert not left.exists()
