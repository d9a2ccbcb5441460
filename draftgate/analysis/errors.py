"""The analysis room's exceptions; every message names what is wrong and the remedy."""

from __future__ import annotations


class AnalysisError(Exception):
    """Base of them all."""


class TraceError(AnalysisError):
    """A trace that cannot be read or lacks what was asked; names file and line."""


class PolicyError(AnalysisError):
    """A policy that does not exist or does not fit the trace."""


class CostModelError(AnalysisError):
    """A cost model that does not exist, is malformed, or lacks a proposer."""


class ReplayError(AnalysisError):
    """A replay that cannot run: a proposer that is not installed, or impossible settings."""
