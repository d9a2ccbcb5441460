"""`python -m draftgate.lossless.mutants.worker`: the process of one sampler, started by `campaign`.

Prints a JSON line for each mutant: its outcome, the modules that kill it, or an error's text.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from draftgate.lossless.mutants.catalogue import find
from draftgate.lossless.mutants.mutant import Mutant, MutantError
from draftgate.lossless.mutants.suite import Suite
from draftgate.lossless.samplers import SamplerError


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="draftgate.lossless.mutants.worker")
    parser.add_argument("--sampler", required=True)
    parser.add_argument("--tests", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--by-module", action="store_true")
    parser.add_argument("mutants", nargs="+")
    arguments = parser.parse_args(argv)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM and pytest may print; stdout is for answers alone
    try:
        suite = Suite(arguments.tests, arguments.sampler, arguments.log)
    except (MutantError, SamplerError) as error:
        print(json.dumps({"error": str(error)}), file=answers, flush=True)
        return 1
    ask = _killers(suite) if arguments.by_module else _outcome(suite)
    for mutant_id in arguments.mutants:
        try:
            answer = ask(find(mutant_id))
        except MutantError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


def _outcome(suite: Suite) -> Callable[[Mutant], dict[str, Any]]:
    def ask(mutant: Mutant) -> dict[str, Any]:
        outcome = suite.outcome(mutant)
        return {
            "killed_by": outcome.killed_by,
            "test": outcome.test,
            "seconds": outcome.seconds,
        }

    return ask


def _killers(suite: Suite) -> Callable[[Mutant], dict[str, Any]]:
    return lambda mutant: {"killers": suite.killers(mutant)}


if __name__ == "__main__":
    raise SystemExit(main())
