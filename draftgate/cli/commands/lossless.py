"""`draftgate lossless`: is a model's speculative decoding lossless?"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftgate.engine import EngineSpec

EXIT_CODES = {"lossless": 0, "not lossless": 2, "undecided": 3}
_COLUMNS = (
    Column("verdict"),
    Column("requests", numeric=True),
    Column("tokens", numeric=True),
    Column("identical", numeric=True),
    Column("near_ties", numeric=True),
    Column("divergences", numeric=True),
    Column("pit_p", numeric=True),
)
_SHOWN = 3


class OptionError(Exception):
    """An option that cannot be understood."""


def lossless(
    model: Annotated[
        str, typer.Option(metavar="M", help="Target: hub id, folder or testbed:NAME.")
    ],
    speculative_config: Annotated[
        str, typer.Option(metavar="JSON", help="vLLM's speculative_config.")
    ],
    prompts: Annotated[
        str,
        typer.Option(
            metavar="FILE|NAME",
            help='A .txt file, a .jsonl file with {"prompt": ...} a line, or a mini workload.',
        ),
    ] = "sharegpt",
    count: Annotated[int, typer.Option(min=1, help="Prompts at most.")] = 32,
    max_tokens: Annotated[int, typer.Option(min=1, help="Output tokens of a request.")] = 128,
    batch_size: Annotated[int, typer.Option(min=1, help="Requests in flight.")] = 8,
    temperature: Annotated[
        float, typer.Option(min=0, max=100, help="Of the sampled check; 0 leaves it out.")
    ] = 1.0,
    dtype: Annotated[str, typer.Option(help="Data type of the weights.")] = "auto",
    max_model_len: Annotated[int | None, typer.Option(min=2, help="Longest text.")] = None,
    engine_args: Annotated[
        str, typer.Option(metavar="JSON", help="Further arguments of both engines.")
    ] = "{}",
    repaired: Annotated[
        bool,
        typer.Option("--repaired", help="Step over the known defects that draftgate can repair."),
    ] = False,
    log_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the engines' logs go.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> int:
    """Compare speculative decoding with standard decoding, on any model and variant.

    Prompts are users' messages, put into the target's chat template; those that leave no room for
    the output are left out. Greedy output must be equal token by token; where it is not, the target
    itself says whether the token is as likely as its own choice (a near-tie). Sampled output must
    be distributed as the target's own, by the probability integral transform of every token.

    The record is {verdict, requests, tokens, identical, near_ties, divergences, pit_p, details}.
    Exit codes: 0 lossless, 1 tool or usage error, 2 not lossless, 3 undecided: nothing speaks
    against it, and nothing could have (no draft was accepted, too few tokens were sampled).

    \b
    Examples:
      draftgate lossless --model testbed:llama-tiny --speculative-config
        '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}' --repaired
      draftgate lossless --model meta-llama/Llama-3.1-8B-Instruct --speculative-config
        '{"method": "eagle3", "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
          "num_speculative_tokens": 3}' --prompts my-prompts.jsonl --temperature 0.7
    """
    from draftgate.lossless.examine import Question, examine, record_of
    from draftgate.lossless.prompts import read_prompts
    from draftgate.lossless.repairs import REPAIRS

    suspect = _spec(
        model=model,
        dtype=dtype,
        max_model_len=max_model_len,
        max_num_seqs=batch_size,
        speculative_config=_speculative_config(speculative_config),
        engine_args=_object("--engine-args", engine_args),
        hooks=REPAIRS if repaired else (),
    )
    question = Question(
        suspect=suspect,
        control=suspect.model_copy(update={"speculative_config": None}),
        prompts=read_prompts(prompts, count),
        max_tokens=max_tokens,
        batch_size=batch_size,
        temperature=temperature,
    )
    finding = examine(question, log_dir or Path(tempfile.mkdtemp(prefix="draftgate-")), _say)
    record = record_of(finding)
    if output is Format.JSON:
        print(json.dumps(record, indent=2, allow_nan=False))
    else:
        emit([{c.key: record[c.key] for c in _COLUMNS}], _COLUMNS, output)
    for line in _remarks(record):
        print(line, file=sys.stdout if output is Format.TABLE else sys.stderr)
    return EXIT_CODES[finding.verdict]


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise OptionError(f"{option} is no JSON: {error}; quote it for the shell") from error
    if not isinstance(value, dict):
        raise OptionError(f"{option} must be a JSON object, not {text}")
    return value


def _speculative_config(text: str) -> dict[str, Any]:
    """Checked as a profile's is, but for keys: a newer vLLM may know more of them."""
    from draftgate.profile.speculative import config_problems

    config = _object("--speculative-config", text)
    problem = next(config_problems(config, (), newer=config), None)
    if problem:
        raise problem.error(config, "--speculative-config")
    return config


def _spec(**fields: Any) -> EngineSpec:
    from pydantic import ValidationError

    from draftgate.engine.spec import EngineSpec

    try:
        return EngineSpec.lifting(fields)
    except ValidationError as error:
        raise OptionError(
            "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        ) from error


def _remarks(record: Mapping[str, Any]) -> list[str]:
    """What a reader wants to know beside the record's numbers."""
    details = record["details"]
    lines = [f"undecided: {details['undecided']}"] if details["undecided"] else []
    for kind in ("near_ties", "divergences"):
        partings = details[kind]
        lines += [_parting_line(kind, parting) for parting in partings[:_SHOWN]]
        if len(partings) > _SHOWN:
            lines.append(f"... and {len(partings) - _SHOWN} more: --format json lists them")
    if details["pit"] is not None:
        lines.append(
            f"sampled at temperature {details['pit']['temperature']:g}: {details['pit']['says']}"
        )
    return lines + [f"may be {issue}" for issue in details["known_issues"]]


def _parting_line(kind: str, parting: Mapping[str, Any]) -> str:
    gap = parting["gap_nats"]
    margin = "ends elsewhere" if gap is None else f"{gap:.3g} nats below the target's own choice"
    return (
        f"{'near-tie' if kind == 'near_ties' else 'divergence'} in {parting['prompt_id']}, "
        f"token {parting['position']}: {parting['token']} instead of {parting['control_token']}, "
        f"{margin}\n"
        f"  ...{parting['first_difference_after']!r}\n"
        f"  standard decoding:    {parting['control_goes_on']!r}\n"
        f"  speculative decoding: {parting['goes_on']!r}"
    )


def _say(line: str) -> None:
    print(f"draftgate: {line}", file=sys.stderr)
