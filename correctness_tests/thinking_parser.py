"""A reasoning parser for the testbed, which vLLM imports by itself (`reasoning_parser_plugin`).

Its tokens are ordinary ones that the tiny models write: a full stop ends thinking.
"""

from __future__ import annotations

from vllm.reasoning import ReasoningParserManager
from vllm.reasoning.basic_parsers import BaseThinkingReasoningParser


@ReasoningParserManager.register_module("testbed")
class TestbedParser(BaseThinkingReasoningParser):
    """Thinking is what stands between ``#`` and the next full stop."""

    start_token = "#"
    end_token = "."
