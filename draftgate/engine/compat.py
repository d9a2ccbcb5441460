"""What this package knows of vLLM's insides: private paths, and what differs from 0.31 on.

Inside a worker, `stages` and `memory` know it too; all else in the engine room talks to
`VllmEngine`. A path that a vLLM version lacks raises
`IncompatibleVllm` with the path and the version, never an AttributeError from somewhere within.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from draftgate.engine.drafts import DraftPlan, is_scripted
from draftgate.engine.errors import RoundRefused
from draftgate.engine.records import SpecCounters
from draftgate.engine.spec import EngineSpec, llm_arguments
from draftgate.engine.stages.timer import HostParts

Result = TypeVar("Result")
StepObserver = Callable[[float, Iterable[tuple[str, int]]], None]


class IncompatibleVllm(RuntimeError):
    """The installed vLLM lacks something this package needs."""


@dataclasses.dataclass(frozen=True, slots=True)
class FinishedRequest:
    """A finished request as the engine returned it; ids are the engine's own."""

    request_id: str
    token_ids: tuple[int, ...]
    finish_reason: str | None
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]


@dataclasses.dataclass(slots=True)
class _SpecTotals:
    """Running sums of vLLM's `SpecDecodingStats`."""

    per_position: list[int]
    drafts: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0

    def add(self, stats: Any) -> None:
        self.drafts += stats.num_drafts
        self.draft_tokens += stats.num_draft_tokens
        self.accepted_tokens += stats.num_accepted_tokens
        for position, count in enumerate(stats.num_accepted_tokens_per_pos):
            self.per_position[position] += count

    def counters(self) -> SpecCounters:
        return SpecCounters(
            drafts=self.drafts,
            draft_tokens=self.draft_tokens,
            accepted_tokens=self.accepted_tokens,
            per_position=tuple(self.per_position),
        )


def reach(root: Any, path: str) -> Any:
    """Attribute behind a dotted ``path``.

    Raises:
        IncompatibleVllm: a part of it is missing.
    """
    value = root
    for part in path.split("."):
        if not hasattr(value, part):
            raise IncompatibleVllm(
                f"vLLM {vllm_version()} has no {type(root).__name__}.{path} ({part!r} is missing); "
                f"draftgate knows 0.31 to 0.32: adapt draftgate/engine/compat.py"
            )
        value = getattr(value, part)
    return value


def vllm_version() -> str:
    """Version of the vLLM in use."""
    import vllm

    return str(vllm.__version__)


def pin_kernels_to_avx2() -> None:
    """Make vLLM choose its AVX2 kernels; call before vLLM is imported.

    vLLM picks a kernel library, attention and MoE paths by these questions to torch, and has no
    setting for it.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    import torch

    for name in dir(torch.cpu):
        if name.startswith(("_is_avx512", "_is_avx10", "_is_amx", "_is_vnni")):
            setattr(torch.cpu, name, lambda: False)


def import_engine() -> None:
    """Import what an engine on the CPU runs on, and start nothing."""
    import vllm.model_executor.model_loader
    import vllm.v1.engine.llm_engine
    import vllm.v1.executor.uniproc_executor
    import vllm.v1.worker.cpu_worker  # noqa: F401
    from vllm import LLM  # noqa: F401


def loaded_kernels() -> str | None:
    """Which of vLLM's CPU kernel libraries this process has mapped; None where there is none."""
    names = {"_C_AVX2.": "avx2", "_C_AVX512.": "avx512", "/vllm/_C.": "native"}
    try:
        with open("/proc/self/maps") as maps:
            text = maps.read()
    except OSError:
        return None
    return next((name for part, name in names.items() if part in text), None)


def compute_threads() -> int:
    """Threads torch computes with now; read after the engine stands, since libraries change it."""
    import torch

    return int(torch.get_num_threads())


class VllmEngine:
    """A `vllm.LLM` seen through what draftgate needs of it."""

    def __init__(self, spec: EngineSpec) -> None:
        """Build the engine; takes seconds to minutes. Raises whatever vLLM raises."""
        from vllm import LLM
        from vllm.engine.arg_utils import EngineArgs
        from vllm.platforms import current_platform

        fields = {field.name for field in dataclasses.fields(EngineArgs)}
        arguments = llm_arguments(
            spec,
            on_cpu=current_platform.is_cpu(),
            request_metrics="per_request_spec_decode_metrics" in fields,
        )
        self._spec = spec
        self._llm = LLM(**arguments)
        self._engine = reach(self._llm, "llm_engine")
        self._core = reach(self._engine, "engine_core")
        self._get_output: Callable[[], Any] = reach(self._core, "get_output")
        self._config = reach(self._engine, "vllm_config")
        self._tokenizer = self._llm.get_tokenizer()
        self._observer: StepObserver | None = None
        self._core_observer: Callable[[Any], None] | None = None
        self._totals = _SpecTotals([0] * spec.k)
        self._silence_statistics()
        self._tap_outputs()

    # What it is

    @property
    def max_model_len(self) -> int:
        """Longest prompt plus output, in tokens."""
        return int(reach(self._config, "model_config.max_model_len"))

    @property
    def dtype(self) -> str:
        """Data type of the weights, such as ``float32``."""
        return str(reach(self._config, "model_config.dtype")).removeprefix("torch.")

    @property
    def kv_cache_tokens(self) -> int | None:
        """Tokens the KV cache holds; None where vLLM does not say."""
        cache = reach(self._config, "cache_config")
        blocks, size = getattr(cache, "num_gpu_blocks", None), getattr(cache, "block_size", None)
        return int(blocks) * int(size) if blocks and size else None

    @property
    def runner(self) -> Literal["v1", "v2", "unknown"]:
        """Which of vLLM's model runners is in use."""
        use_v2 = getattr(self._config, "use_v2_model_runner", None)
        return "unknown" if use_v2 is None else "v2" if use_v2 else "v1"

    @property
    def platform(self) -> Literal["cpu", "cuda", "other"]:
        """What it computes on."""
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            return "cpu"
        return "cuda" if current_platform.is_cuda() else "other"

    # Prompts

    @property
    def has_chat_template(self) -> bool:
        """Whether the target's tokenizer brings a chat template."""
        return bool(getattr(self._tokenizer, "chat_template", None))

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a user message: in the chat template where there is one, else as it is."""
        if not self.has_chat_template:
            return list(self._tokenizer.encode(text))
        rendered = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tokenize=False,
            add_generation_prompt=True,
            **self._spec.chat_template_kwargs,
        )
        return list(self._tokenizer.encode(rendered, add_special_tokens=False))

    # Running

    def follow(self, plan: DraftPlan | None) -> None:
        """Draft by ``plan`` from now on; None drafts nothing. For engines of `scripted_config`.

        Raises:
            RoundRefused: a plan for an engine with a proposer of its own.
        """
        if is_scripted(self._spec.speculative_config):
            chosen = plan or DraftPlan(rule="empty")
            self._llm.collective_rpc("follow_draft_plan", args=(chosen.model_dump_json(),))
        elif plan is not None:
            raise RoundRefused(
                "the round brings a draft plan and this engine has a proposer of its own: start "
                "one with speculative_config=scripted_config(k)"
            )

    def sampling(self, *, max_tokens: int, temperature: float, seed: int | None) -> Any:
        """Sampling parameters as `LLM.generate` would use them: only the final output is built."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        fault = self._spec.fault
        return SamplingParams(
            max_tokens=fault.max_tokens(max_tokens) if fault else max_tokens,
            temperature=temperature,
            seed=seed,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def prepare(self, token_ids: list[int]) -> Any:
        """Engine input of a tokenised prompt, made outside the timed part."""
        try:
            from vllm.inputs.engine import tokens_input
        except ImportError:  # 0.31 takes the plain prompt
            return {"prompt_token_ids": token_ids}
        return tokens_input(token_ids)

    def add(self, request_id: str, prompt: Any, sampling: Any) -> str:
        """Queue a request; returns the id that the engine core's outputs bear."""
        internal_id = self._engine.add_request(request_id, prompt, sampling)
        return internal_id if isinstance(internal_id, str) else request_id

    def step(self) -> list[FinishedRequest]:
        """One engine step; requests that finished in it (ids as given to `add`)."""
        return [_finished(output) for output in self._engine.step() if output.finished]

    def step_outputs(self) -> list[Any]:
        """One engine step; vLLM's own outputs of requests that finished or report cumulatively."""
        return list(self._engine.step())

    def abort(self, request_ids: list[str]) -> None:
        """Take requests away, by the ids given to `add`; finished ones are ignored."""
        self._engine.abort_request(request_ids)

    def empty_prefix_cache(self) -> None:
        """Forget all cached prefixes; does nothing where the cache is off."""
        self._llm.reset_prefix_cache()

    def observe_core(self, observer: Callable[[Any], None] | None) -> None:
        """Have ``observer`` see, and change, the engine core's outputs of each step."""
        self._core_observer = observer

    def observe_steps(self, observer: StepObserver | None) -> None:
        """Have ``observer`` see each step's output: its time, and (request id, new tokens) pairs.

        Time is `time.perf_counter` seconds as the step returned. Steps that only queue work
        (asynchronous scheduling) are not shown. None takes the observer away.
        """
        self._observer = observer

    def counters(self) -> SpecCounters | None:
        """Speculative-decoding counters since the start; None where it is off."""
        return self._totals.counters() if self._spec.k else None

    def wrap_steps(self, wrap: Callable[[Callable[[], Any]], Callable[[], Any]]) -> None:
        """Replace what runs a step, from scheduling to new tokens, by ``wrap`` of it."""
        self._get_output = wrap(self._get_output)

    def wrap_proposer(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace the proposer's `propose` by ``wrap`` of it; engines in this process only."""
        runner = reach(self._engine, "model_executor.driver_worker.worker.model_runner")
        proposer = reach(runner, "speculator" if self.runner == "v2" else "drafter")
        proposer.propose = wrap(reach(proposer, "propose"))

    # Looking inside

    def on_first_worker(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call ``function(worker, *arguments)`` on every worker; what the first returns."""
        found: Result = self._llm.collective_rpc(function, args=arguments)[0]
        return found

    def host_parts(self) -> HostParts | None:
        """What shares the worker's process; None where workers have processes of their own."""
        core = reach(self._core, "engine_core")
        if not hasattr(reach(core, "model_executor"), "driver_worker"):
            return None
        return HostParts(self._engine, reach(core, "scheduler"))

    def _silence_statistics(self) -> None:
        """Keep the scheduler's statistics, drop their reporting.

        The scheduler counts drafts only where statistics are on; turning its counts into
        Prometheus samples each step would cost small models several percent.
        """
        reach(self._engine, "output_processor.log_stats")
        reach(self._engine, "logger_manager")
        self._engine.log_stats = False
        self._engine.output_processor.log_stats = False
        self._engine.logger_manager = None

    def _tap_outputs(self) -> None:
        """See each step's output between the engine core and the output processor."""

        def tapped() -> Any:
            outputs = self._get_output()
            stats = outputs.scheduler_stats
            if stats is not None and stats.spec_decoding_stats is not None:
                self._totals.add(stats.spec_decoding_stats)
            if self._core_observer is not None:
                self._core_observer(outputs)
            if self._observer is not None and (outputs.outputs or stats is not None):
                now = time.perf_counter()
                self._observer(now, [(o.request_id, len(o.new_token_ids)) for o in outputs.outputs])
            return outputs

        self._core.get_output = tapped

    def shutdown(self) -> None:
        """Release workers and devices; on CPU the process's end does that, and faster."""
        if self.platform != "cpu":
            reach(self._core, "shutdown")()


def _finished(output: Any) -> FinishedRequest:
    completion = output.outputs[0]
    metrics = getattr(completion, "spec_decode_metrics", None)
    return FinishedRequest(
        request_id=output.request_id,
        token_ids=tuple(completion.token_ids),
        finish_reason=completion.finish_reason,
        drafted=tuple(metrics.per_step_drafted) if metrics is not None else (),
        accepted=tuple(metrics.per_step_accepted) if metrics is not None else (),
    )
