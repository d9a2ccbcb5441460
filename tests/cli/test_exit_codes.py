"""What becomes of a command's outcome: any command added later relies on this."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import typer

from draftgate.cli import main
from draftgate.profile import ProfileError


def run_command(command: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command("it")(command)
    monkeypatch.setattr(main, "app", app)
    return main.run(["it"])


def raises(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def test_nothing_returned_is_success(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_command(lambda: None, monkeypatch) == 0


@pytest.mark.parametrize("code", [0, 2, 3])
def test_code_may_be_returned_or_raised(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_command(lambda: code, monkeypatch) == code
    assert run_command(raises(typer.Exit(code)), monkeypatch) == code


def test_rooms_own_error_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ProfileError("x.toml", "name", "bad", remedy="mend it")
    assert run_command(raises(error), monkeypatch) == 1
    assert capsys.readouterr().err == "draftgate: x.toml: name: bad\n  remedy:  mend it\n"


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        run_command(raises(ZeroDivisionError()), monkeypatch)


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_command(raises(KeyboardInterrupt()), monkeypatch) == 130
