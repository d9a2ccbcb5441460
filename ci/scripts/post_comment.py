"""Post a report on the pull request of a `workflow_run` event, or renew the one posted before.

    python3 ci/scripts/post_comment.py REPORT.md NAME

Runs in the trusted half of CI: it takes the pull request from GitHub's own event, never from a
file that the pull request's code wrote. NAME tells several reports on one pull request apart.
Needs GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_TOKEN (pull-requests: write). Standard library
only.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 65_000
"""GitHub refuses a comment of more than 65,536 characters."""

PAGE = 100


@dataclass(frozen=True)
class Api:
    """GitHub's REST interface for one repository."""

    root: str
    token: str

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The parsed answer; raises urllib.error.HTTPError on a refusal."""
        request = urllib.request.Request(
            f"{self.root}/{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def pull_request(api: Api, run: dict[str, Any]) -> int | None:
    """Number of the open pull request whose head the workflow ran on; None: there is none.

    GitHub names it in the event only where it comes from the same repository.
    """
    if run["pull_requests"]:
        return int(run["pull_requests"][0]["number"])
    head = f"{run['head_repository']['owner']['login']}:{run['head_branch']}"
    query = urllib.parse.urlencode({"state": "open", "head": head, "per_page": PAGE})
    found = api.call("GET", f"pulls?{query}")
    return next((int(p["number"]) for p in found if p["head"]["sha"] == run["head_sha"]), None)


def post(api: Api, number: int, name: str, report: str) -> str:
    """Write the comment; says whether it was created or renewed."""
    marker = f"<!-- draftgate {name} -->"
    body = {"body": f"{marker}\n{_bounded(report)}"}
    for page in range(1, 11):
        comments = api.call("GET", f"issues/{number}/comments?per_page={PAGE}&page={page}")
        for comment in comments:
            own = comment["user"]["type"] == "Bot"  # a user could quote the marker
            if own and comment["body"].startswith(marker):
                api.call("PATCH", f"issues/comments/{comment['id']}", body)
                return "renewed"
        if len(comments) < PAGE:
            break
    api.call("POST", f"issues/{number}/comments", body)
    return "created"


def _bounded(report: str) -> str:
    if len(report) <= LONGEST:
        return report
    return report[: LONGEST - 100].rsplit("\n", 1)[0] + "\n\ncut here: see the run's artifact"


def main() -> int:
    """Exit code 0: posted, or no pull request to post on."""
    path, name = sys.argv[1:]
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    root = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    api = Api(f"{root}/repos/{os.environ['GITHUB_REPOSITORY']}", os.environ["GITHUB_TOKEN"])
    number = pull_request(api, event["workflow_run"])
    if number is None:
        print("no open pull request at the commit that was measured")
        return 0
    done = post(api, number, name, Path(path).read_text(encoding="utf-8"))
    print(f"comment on pull request {number} {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
