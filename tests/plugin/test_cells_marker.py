"""The marker ``cells`` and the fixture ``perf`` in somebody's own tests."""

from __future__ import annotations

import pytest
from fake_engines import FakeEngines
from small_project import Run

ALL = 8


@pytest.mark.parametrize(
    ("marker", "cells"),
    [
        ("", ALL),
        ("@pytest.mark.cells()", ALL),
        ("@pytest.mark.cells(speculative=True)", 5),
        ("@pytest.mark.cells(timed=True)", 3),
        ("@pytest.mark.cells(timed=True, speculative=True)", 2),
        ("@pytest.mark.cells(timed=False)", ALL),
        ("@pytest.mark.cells(staged=True)", 0),
        ("@pytest.mark.cells(scripted=True)", 0),
        ("@pytest.mark.cells(timed=True, limited='speedup')", 3),
        ("@pytest.mark.cells(timed=True, limited='mean_ttft_ms')", 0),
    ],
)
def test_it_selects_cells(run: Run, pytester: pytest.Pytester, marker: str, cells: int) -> None:
    pytester.makepyfile(f"import pytest\n\n\n{marker}\ndef test_mine(cell, perf):\n    pass\n")
    result = run("--collect-only", "-q", "test_it_selects_cells.py", "-k", "test_mine")
    assert len([line for line in result.outlines if "::test_mine[" in line]) == cells


def test_a_test_without_cells_is_not_there_rather_than_skipped(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        "import pytest\n\n\n@pytest.mark.cells(staged=True)\ndef test_mine(cell, perf):\n    pass\n"
        "\n\ndef test_unrelated():\n    pass\n"
    )
    result = run(
        "test_a_test_without_cells_is_not_there_rather_than_skipped.py", "-k", "mine or unrelated"
    )
    result.assert_outcomes(passed=1)


def test_untimed_cells_have_no_throughput_test(run: Run) -> None:
    result = run("--collect-only", "-q")
    timed = [line for line in result.outlines if "throughput.py::" in line]
    assert len(timed) == 5
    assert not [line for line in timed if "sharegpt" in line]


@pytest.mark.parametrize(
    ("marker", "arguments", "said"),
    [
        (
            "@pytest.mark.cells(speculatve=True)",
            "cell, perf",
            "marker cells(speculatve=): it takes "
            "speculative=, timed=, staged=, scripted=, limited=",
        ),
        ("@pytest.mark.cells('gsm8k')", "cell, perf", "marker cells('gsm8k'): it takes *"),
        ("", "perf", "the fixture `perf` needs the argument `cell` beside it"),
    ],
)
def test_a_mistake_is_explained(
    run: Run,
    pytester: pytest.Pytester,
    engines: FakeEngines,
    marker: str,
    arguments: str,
    said: str,
) -> None:
    pytester.makepyfile(f"import pytest\n\n\n{marker}\ndef test_mine({arguments}):\n    pass\n")
    result = run("test_a_mistake_is_explained.py")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([said])
    assert "Traceback" not in result.stdout.str()
    assert not engines.hosts
    assert not (pytester.path / "results").exists()


def test_an_argument_called_cell_is_nobody_elses_business(
    pytester: pytest.Pytester, engines: FakeEngines
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("cell", [1, 2])
        def test_mine(cell):
            assert cell
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


def test_a_measurement_is_there_for_own_assertions(
    run: Run, pytester: pytest.Pytester, engines: FakeEngines
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.cells(timed=True)
        def test_mine(cell, perf):
            assert min(perf.measured.measurement.draftgate.timed["output_throughput"]) > 1
        """
    )
    result = run("test_a_measurement_is_there_for_own_assertions.py", "-k", "test_mine")
    result.assert_outcomes(passed=3, deselected=60)
    assert len(list((pytester.path / "results/1/cells").iterdir())) == 3


def test_the_rounds_of_a_cell_are_played_once_however_it_is_timed(
    run: Run, engines: FakeEngines
) -> None:
    only = ("-k", "tiny-ngram-k3-gsm8k")
    for extra in ((), ("--benchmark-disable",), ("--benchmark-skip",)):
        assert run(*only, *extra).ret == 0
    # Two rounds of warm-up and three timed ones, of the arm and of its control.
    assert [len(host.requests) for host in engines] == [5] * 6
