"""`post_comment.py` against a server that answers as GitHub does."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ci_project import SCRIPTS, environment

SHA = "a" * 40
RUN = {
    "pull_requests": [],
    "head_sha": SHA,
    "head_branch": "fix",
    "head_repository": {"owner": {"login": "someone"}},
}


@dataclass
class GitHub:
    """Pull requests and comments, and what was asked."""

    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, method: str, path: str, body: Any) -> Any:
        self.asked.append((method, path))
        if body:
            self.bodies.append(body["body"])
        if "/pulls" in path:
            return self.pulls
        return self.comments if method == "GET" else {}


@pytest.fixture
def github() -> Iterator[GitHub]:
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            assert self.headers["Authorization"] == "Bearer token"
            data = json.dumps(state.answer(self.command, self.path, body)).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _do

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()


def post(github: GitHub, folder: Path, report: str = "**PASS**", **run: Any) -> str:

    (folder / "report.md").write_text(report)
    (folder / "event.json").write_text(json.dumps({"workflow_run": {**RUN, **run}}))
    env = environment(
        GITHUB_EVENT_PATH=str(folder / "event.json"),
        GITHUB_API_URL=github.url,
        GITHUB_REPOSITORY="org/repo",
        GITHUB_TOKEN="token",
        no_proxy="127.0.0.1",
    )
    words = [sys.executable, str(SCRIPTS / "post_comment.py"), "report.md", "cpu"]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_report_is_posted_once_and_then_renewed(github: GitHub, tmp_path: Path) -> None:
    assert "pull request 7 created" in post(github, tmp_path, pull_requests=[{"number": 7}])
    assert github.asked[-1] == ("POST", "/repos/org/repo/issues/7/comments")
    github.comments = [{"id": 5, "body": github.bodies[-1], "user": {"type": "Bot"}}]
    assert "renewed" in post(github, tmp_path, "**REGRESSION**", pull_requests=[{"number": 7}])
    assert github.asked[-1] == ("PATCH", "/repos/org/repo/issues/comments/5")
    assert github.bodies[-1] == "<!-- draftgate cpu -->\n**REGRESSION**"


def test_a_user_cannot_make_us_overwrite_their_comment(github: GitHub, tmp_path: Path) -> None:
    github.comments = [{"id": 5, "body": "<!-- draftgate cpu -->", "user": {"type": "User"}}]
    assert "created" in post(github, tmp_path, pull_requests=[{"number": 7}])


def test_a_fork_is_found_by_its_head(github: GitHub, tmp_path: Path) -> None:
    github.pulls = [
        {"number": 8, "head": {"sha": "b" * 40}},
        {"number": 9, "head": {"sha": SHA}},
    ]
    assert "pull request 9 created" in post(github, tmp_path)
    assert "head=someone%3Afix" in github.asked[0][1]


def test_a_commit_that_moved_on_gets_no_comment(github: GitHub, tmp_path: Path) -> None:
    github.pulls = [{"number": 8, "head": {"sha": "b" * 40}}]
    assert "no open pull request" in post(github, tmp_path)
    assert {method for method, _ in github.asked} == {"GET"}


def test_a_long_report_is_cut(github: GitHub, tmp_path: Path) -> None:
    post(github, tmp_path, "| row |\n" * 20_000, pull_requests=[{"number": 7}])
    assert len(github.bodies[-1]) < 65_536
    assert github.bodies[-1].endswith("cut here: see the run's artifact")
