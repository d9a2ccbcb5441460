"""Engines: one child process each, holding `vllm.LLM`, behind a typed pipe.

Importing this package imports neither vLLM nor torch; the children do.
"""

from draftgate.engine.drafts import DraftPlan, Recording, record_outputs, scripted_config
from draftgate.engine.errors import EngineError, SpecError
from draftgate.engine.fingerprint import Fingerprint, Provenance, fingerprint, provenance
from draftgate.engine.fleet import Started, start_many
from draftgate.engine.host import EngineHost, Timeouts
from draftgate.engine.protocol import EngineInfo, RoundPrompt, RoundRequest
from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters
from draftgate.engine.spec import EngineSpec

__all__ = [
    "DraftPlan",
    "EngineError",
    "EngineHost",
    "EngineInfo",
    "EngineSpec",
    "Fingerprint",
    "Provenance",
    "Recording",
    "RequestRecord",
    "RoundPrompt",
    "RoundRecord",
    "RoundRequest",
    "SpecCounters",
    "SpecError",
    "Started",
    "Timeouts",
    "fingerprint",
    "provenance",
    "record_outputs",
    "scripted_config",
    "start_many",
]
