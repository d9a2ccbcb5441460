"""Engines: one child process each, holding `vllm.LLM`, behind a typed pipe.

Importing this package imports neither vLLM nor torch; the children do.
"""

from draftgate.engine.drafts import DraftPlan, Recording, record_outputs, scripted_config
from draftgate.engine.errors import EngineError, SpecError
from draftgate.engine.fingerprint import Fingerprint, Provenance, fingerprint, provenance
from draftgate.engine.fleet import Started, start_many
from draftgate.engine.host import EngineHost, Timeouts
from draftgate.engine.interpreter import Interpreter, InterpreterError
from draftgate.engine.probe import (
    Completion,
    Probe,
    ProbeOutput,
    ProbeRequest,
    ProbeResult,
    Sampling,
)
from draftgate.engine.protocol import EngineInfo, RoundPrompt, RoundRequest
from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters
from draftgate.engine.scores import ScoredText, Scoring, TokenScore
from draftgate.engine.spec import EngineSpec

__all__ = [
    "Completion",
    "DraftPlan",
    "EngineError",
    "EngineHost",
    "EngineInfo",
    "EngineSpec",
    "Fingerprint",
    "Interpreter",
    "InterpreterError",
    "Probe",
    "ProbeOutput",
    "ProbeRequest",
    "ProbeResult",
    "Provenance",
    "Recording",
    "RequestRecord",
    "RoundPrompt",
    "RoundRecord",
    "RoundRequest",
    "Sampling",
    "ScoredText",
    "Scoring",
    "SpecCounters",
    "SpecError",
    "Started",
    "Timeouts",
    "TokenScore",
    "fingerprint",
    "provenance",
    "record_outputs",
    "scripted_config",
    "start_many",
]
