"""Verified draws a second: drafted, sampled by vLLM, counted and judged. Prints, asserts nothing.

    OMP_NUM_THREADS=1 python benchmarks/sampler_throughput.py [sampler] [draws]

A draw is one request's verification step. "cpu" leaves out the time in which other processes ran.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.samplers import chosen, load_sampler
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import View, first_view, step_view

SHAPES = ((16, 1), (4, 2), (4, 3))


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else chosen()
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    sampler = load_sampler(name)
    print(f"{name}, {draws} draws each")
    for vocab, k in SHAPES:
        rng = np.random.default_rng(0)
        chain = random_chain(rng, vocab, k, "independent")
        trial, views = Trial([chain], 50_000), []
        sampler.sample(trial.draw(rng), 0)
        wall, cpu = time.perf_counter(), time.process_time()
        for seed in range(draws // trial.requests):
            outputs = sampler.sample(trial.draw(rng), seed)
            first = vocab > 4
            views.append(
                first_view(outputs, chain) if first else step_view(outputs, chain, certain=False)
            )
        found = View(np.sum([view.counts for view in views], axis=0), views[0].law).goodness()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"vocabulary {vocab}, k {k}: {draws / wall:,.0f}/s wall, {draws / cpu:,.0f}/s cpu")
        print(f"  {found}")


if __name__ == "__main__":
    main()
