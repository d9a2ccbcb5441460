"""The report of a run: what it says in each format, and hostile text in it."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_examples import cell, ok, small_run, write_run

from draftgate.analysis.cost_models import H100_LLAMA31_8B
from draftgate.cli.main import run
from draftgate.measure.record import Measurement
from draftgate.reporting.clean import clean
from draftgate.reporting.report.content import Report, build_report
from draftgate.reporting.report.flat import render_json
from draftgate.reporting.report.markdown import render_markdown
from draftgate.reporting.report.meanings import MEANINGS
from draftgate.reporting.report.page import render_html
from draftgate.reporting.report.panel import Panel, Table, thinned
from draftgate.reporting.report.select import blocks
from draftgate.reporting.report.stage_panels import stage_panels
from draftgate.reporting.run_reader import read_run
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\x1b[31mred\x1b]0;title\x07\u202etxt|`*"
STAGED = Path(__file__).parents[1] / "measure" / "examples" / "measurement_with_stages.json"
LIBRARY = "plotly.js"


class Page(HTMLParser):
    """Tags and the page's own data; the drawing library is left out."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if LIBRARY not in data:
            self.data.append(data)

    @property
    def figures(self) -> list[dict]:
        """The JSON of the figures follows the library's script."""
        [text] = [data for data in self.data if data.startswith('[{"data":')]
        return json.loads(text)


def report_of(tmp_path: Path, cells, verdicts=(), **facts) -> Report:
    folder = write_run(tmp_path / "run", cells, verdicts, **facts)
    return build_report(read_run(folder, partial=True), H100_LLAMA31_8B)


def panels(report: Report) -> dict[str, Panel]:
    return {panel.key: panel for section in report.sections for panel in section.panels}


def test_a_run_of_several_variants_has_every_figure(tmp_path: Path) -> None:
    found = panels(report_of(tmp_path, small_run()))
    assert list(found) == [
        "speedup", "throughput", "acceptance_length", "per_request", "positions", "along", "heat",
        "bursts", "overlap", "difference", "bleu", "oracle", "combine",
    ]  # fmt: skip
    assert all(panel.records for panel in found.values())
    for panel in found.values():
        assert all(panel.columns.keys() <= record.keys() for record in panel.records), panel.key


def test_a_figure_without_unit_n_or_noise_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="states its unit, n and noise"):
        Panel("key", "title", "unit", "", "noise", Table(), {}, ())


def test_the_html_page_is_whole_and_draws_every_figure(tmp_path: Path) -> None:
    report = report_of(tmp_path, small_run())
    text = render_html(report)
    page = Page(text)
    places = [a for tag, a in page.tags if a.get("class") == "plot"]
    assert [int(place["data-figure"]) for place in places] == list(range(len(page.figures)))
    assert all(figure["data"] for figure in page.figures)
    links = [a.get("href") or a.get("src") for _, a in page.tags]
    assert all(link is None or link.startswith(("#", "data:")) for link in links)
    assert text.count(LIBRARY + " v") == 1
    for panel in panels(report).values():
        assert f"<b>n</b> {panel.n} " in text.replace("&#39;", "'")


def test_cells_without_variants_or_times_still_make_a_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, [cell("tiny/none/gsm8k/bs1", timed=False)])
    assert report.sections == []
    assert report.advice == ()
    assert "<script>" not in render_html(report)
    assert report.headline == "1 cell: 1 by exact metrics alone (1 OK)"
    assert render_markdown(report).startswith(f"# draftgate report\n\n{report.headline}.")


@given(st.integers(0, 600), st.integers(1, 60))
def test_a_matrix_is_never_taller_than_its_limit(lines: int, most: int) -> None:
    drawn = thinned(range(lines), most)
    assert len(drawn) <= most
    assert len(drawn) == lines or len(drawn) > most / 2
    assert list(drawn)[:1] == list(range(lines))[:1]


def test_failing_verdicts_stand_first_and_tell_the_whole(tmp_path: Path) -> None:
    cells = small_run()
    name = cells[1].draftgate.subject.cell
    red = Verdict(name, "speedup", VerdictKind.REGRESSED, 1.7, 1.9, ratio=0.9, n=3, limit=0.03)
    report = report_of(tmp_path, cells, [*map(ok, cells), red])
    assert report.failing == [red]
    assert report.rows[0].cell == name
    for text in (render_html(report), render_markdown(report)):
        assert text.index("REGRESSED") < text.index("Advice")


def test_the_headline_tells_timed_cells_from_those_without_times(tmp_path: Path) -> None:
    cells = [*small_run(), cell("tiny/none/aime/bs4", timed=False)]
    timed = len(cells) - 1
    report = report_of(tmp_path, cells, list(map(ok, cells)))
    assert report.headline == (
        f"{timed + 1} cells: {timed} timed ({timed} OK), 1 by exact metrics alone (1 OK)"
    )


def test_a_doubtful_cell_says_why_and_taints_the_advice_on_it(tmp_path: Path) -> None:
    cells = small_run()
    best = build_report(read_run(write_run(tmp_path / "r", cells)), H100_LLAMA31_8B).advice[0]
    name = f"{best.target}/{best.best.variant}/{best.workload}/bs{best.batch_size}"
    noisy = Verdict(
        *(name, "speedup", VerdictKind.UNSTABLE, 1.9, 1.8),
        ratio=1.06, ci_low=0.8, ci_high=1.3, n=3, limit=0.1,
    )  # fmt: skip
    text = render_html(report_of(tmp_path, cells, [*map(ok, cells), noisy]))
    assert "speedup +6.0 % (95 % CI -20.0..+30.0, limit -10 %)" in text
    assert "too noisy to tell a loss at the limit from none" in text
    row = text[text.index('<tr class="advice">') :].partition("</tr>")[0]
    assert f'<td class="cell doubt">{best.best.variant}</td>' in row
    assert "<td>UNSTABLE</td>" in row


def test_every_kind_of_verdict_has_its_meaning() -> None:
    assert list(MEANINGS) == list(VerdictKind)


def test_a_bound_is_simulated_only_at_batches_that_the_requests_fill(tmp_path: Path) -> None:
    found = panels(report_of(tmp_path, small_run()))
    requests = len(small_run()[0].draftgate.rounds[0].requests)
    for key in ("oracle", "combine"):
        assert max(r["batch_size"] for r in found[key].records) <= requests


def test_an_unfinished_run_says_so_at_the_top(tmp_path: Path) -> None:
    report = report_of(tmp_path, small_run()[:2], exit_reason="interrupted")
    assert "the run did not finish" in report.headline
    assert "a missing cell is not a good one" in render_html(report)


def test_a_run_that_ended_badly_says_so_at_the_top(tmp_path: Path) -> None:
    fine = render_html(report_of(tmp_path / "fine", small_run()[:2], exit_reason="ok"))
    refused = report_of(tmp_path / "bad", small_run()[:2], exit_reason="baselines_refused")
    assert "The run ended with" not in fine
    assert "The run ended with baselines_refused" in render_html(refused)


def hostile_report(tmp_path: Path, text: str) -> Report:
    """``text`` wherever a run's files hold free text."""
    ids = [f"{i}{text}" for i in range(4)]
    cells = [
        cell(f"tiny/{variant}-k3/{place}", ids=ids, machine=text, commit=text)
        for variant in ("ngram", "eagle3")
        for place in ("gsm8k/bs1", f"{text.replace('/', '')}/bs1")
    ]
    bad = Verdict(cells[0].draftgate.subject.cell, text, VerdictKind.INVALID, cause=text)
    fine = [ok(measured) for measured in cells]
    return report_of(tmp_path, cells, [bad, *fine], profile=text, started=text)


def test_hostile_text_is_only_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("run_examples.ResultsFolder.write_cell", numbered())
    report = hostile_report(tmp_path, HOSTILE)
    page = Page(render_html(report))
    names = {tag for tag, _ in page.tags}
    assert "img" not in names
    assert sum(tag == "script" for tag, _ in page.tags) == 3
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    shown = "".join(page.data)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    labels = json.dumps([figure["data"] for figure in page.figures])
    assert "<img" not in labels  # Plotly reads some HTML in labels
    markdown = render_markdown(report)
    assert "<img" not in markdown
    assert "\x1b" not in markdown
    assert json.loads(render_json(report))["facts"]["profile"] == HOSTILE


def test_a_huge_line_is_cut(tmp_path: Path) -> None:
    report = report_of(tmp_path, [cell("tiny/none/gsm8k/bs1", timed=False, machine="x" * 10**7)])
    assert len(render_html(report)) < 100_000
    assert len(render_markdown(report)) < 100_000


def numbered():
    """Cell files by number: a workload's name need not be one of a file."""
    numbers = iter(range(100))

    def write(folder, measurement: Measurement) -> None:
        measurement.write(folder.path / "cells" / f"{next(numbers)}.json")

    return write


@given(st.text(), st.integers(1, 80))
def test_clean_text_is_one_short_printable_line(text: str, longest: int) -> None:
    found = clean(text, longest)
    assert len(found) <= longest
    assert found.isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", found)
    assert clean(found, longest) == found


def test_stages_and_memory_are_shown_where_they_were_measured() -> None:
    found = list(stage_panels(blocks([Measurement.read(STAGED)])))
    assert "stages" in [panel.key for panel in found]
    shares = [record["value"] for record in found[0].records]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert list(stage_panels(blocks(small_run()))) == []


@pytest.mark.parametrize(
    ("module", "said"), [("jinja2", "needs jinja2"), ("plotly.graph_objects", "needs plotly")]
)
def test_a_missing_library_is_told_with_its_remedy(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, module: str, said: str
) -> None:
    folder = write_run(tmp_path / "run", small_run())
    monkeypatch.setitem(sys.modules, module, None)
    assert run(["report", str(folder), "-o", str(tmp_path / "r.html")]) == 1
    assert f"{said}; install draftgate[report]" in capsys.readouterr().err
    assert run(["report", str(folder), "--format", "md"]) == 0


def test_the_command_writes_each_format(tmp_path: Path, capsys) -> None:
    folder = write_run(tmp_path / "run", small_run())
    assert run(["report", str(folder), "--format", "json"]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert captured.err == ""
    assert {panel["key"] for panel in data["panels"]} >= {"speedup", "heat", "oracle"}
    assert all(panel["unit"] and panel["n"] and panel["noise"] for panel in data["panels"])
    out = tmp_path / "deep" / "report.html"
    assert run(["report", str(folder), "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text().startswith("<!doctype html>")
    assert run(["report", str(folder), "-o", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err
