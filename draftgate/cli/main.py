"""The entry point: the app, its commands, and how errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from draftgate import __version__
from draftgate.cli.commands.acceptance import acceptance
from draftgate.cli.commands.advise import advise
from draftgate.cli.commands.baselines import baselines
from draftgate.cli.commands.compare import compare
from draftgate.cli.commands.fit_cost import fit_cost
from draftgate.cli.commands.gate import gate
from draftgate.cli.commands.history import history
from draftgate.cli.commands.lossless import lossless
from draftgate.cli.commands.merge import merge
from draftgate.cli.commands.mutants import mutants
from draftgate.cli.commands.plan import plan
from draftgate.cli.commands.power import power
from draftgate.cli.commands.replay import replay
from draftgate.cli.commands.report import report
from draftgate.cli.commands.simulate import simulate
from draftgate.cli.commands.tree import tree

TOOL_ERROR = 1
INTERRUPTED = 130

# Where click's own classes live depends on typer's version; their common base does not.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]

# No rich in help: it doubles the start-up time.
app = typer.Typer(
    name="draftgate",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's own) and return its exit code.

    A room's own exception is a complete message: it goes to stderr, exit 1. So do usage errors,
    because 2 means "regression" to scripts. Anything else is a bug and keeps its traceback.
    """
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = app(args=words, prog_name="draftgate", standalone_mode=False)
        sys.stdout.flush()  # here, not in the interpreter's exit, which complains of a closed pipe
    except _USAGE_ERROR as error:
        print(_usage_text(error), file=sys.stderr)
        return TOOL_ERROR
    except (typer.Abort, KeyboardInterrupt):
        print("draftgate: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TOOL_ERROR
    except Exception as error:
        if not type(error).__module__.startswith("draftgate."):
            raise
        print(f"draftgate: {error}", file=sys.stderr)
        return TOOL_ERROR
    return code if isinstance(code, int) else 0


def _usage_text(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "draftgate"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"draftgate: {message}\nTry '{command} --help'."


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"draftgate {__version__}")
        raise typer.Exit


@app.callback()
def draftgate(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print it.")
    ] = False,
) -> None:
    """Performance-regression and losslessness suite for speculative decoding on vLLM.

    Results go to stdout, messages to stderr. Exit codes: 0 done, 1 tool or usage error; a command
    that judges documents its own further codes.

    \b
    Examples:
      draftgate plan                       cells, engine starts and time of the default profile
      draftgate plan --profile cpu-full    the same for another profile
      pytest perf_tests --profile cpu      measure and judge
      draftgate gate junit.xml             may the change pass, by the run's JUnit
    """


app.add_typer(baselines, name="baselines")
app.command()(gate)
app.add_typer(history, name="history")
app.command()(merge)
app.command()(compare)
app.command()(lossless)
app.command("fit-cost")(fit_cost)
app.command()(acceptance)
app.command()(advise)
app.command()(mutants)
app.command()(plan)
app.command()(power)
app.command()(replay)
app.command()(report)
app.command()(simulate)
app.command()(tree)

if __name__ == "__main__":
    sys.exit(run())
