"""Rules for what goes to vLLM: a variant's speculative config and a target's engine arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from draftgate.profile.hints import did_you_mean
from draftgate.profile.model import Target, Variant
from draftgate.profile.problem import Problem
from draftgate.profile.vllm_names import (
    DEPRECATED_METHODS,
    ENGINE_ARGS,
    METHODS,
    MODEL_METHODS,
    SOURCE_VERSION,
    SPECULATIVE_KEYS,
)

Where = tuple[str | int, ...]

# Engine arguments that a profile states elsewhere; twice would let the two disagree.
_ELSEWHERE: Mapping[str, str] = {
    "model": "the target's own key model",
    "revision": "the target's own key revision",
    "tokenizer": "the target's own key tokenizer",
    "tensor_parallel_size": "the target's own key tensor_parallel_size",
    "dtype": "the target's own key dtype",
    "max_model_len": "the target's own key max_model_len",
    "seed": "the profile's own key seed",
    "speculative_config": "a variant's speculative_config",
}


def variant_problems(variant: Variant, where: Where, newer: Collection[str]) -> Iterator[Problem]:
    """What is wrong with one variant, most telling first."""
    config, here = variant.speculative_config, (*where, "speculative_config")
    if variant.name == "none":
        if config is not None:
            remedy = "remove speculative_config, or name the variant after its method and k"
            yield Problem(here, "the control has none", config, "no speculative_config", remedy)
        if variant.workloads is not None:
            remedy = "remove workloads: other variants need their control everywhere"
            yield Problem(
                (*where, "workloads"), "the control runs on every workload", remedy=remedy
            )
        return
    if config is None:
        remedy = 'add speculative_config = {method = "...", num_speculative_tokens = ...}'
        yield Problem(here, "missing key: only the variant 'none' goes without", remedy=remedy)
        return
    yield from config_problems(config, here, newer)
    yield from _name_problems(variant, where)


def config_problems(
    config: dict[str, Any], where: Where, newer: Collection[str]
) -> Iterator[Problem]:
    """What is wrong with a ``speculative_config`` by itself, most telling first."""
    yield from _method_problems(config, where)
    yield from _unknown_keys(config, SPECULATIVE_KEYS, where, newer)
    yield from _k_problems(config, where)
    yield from _model_problems(config, where)
    yield from _lookup_problems(config, where)


def engine_problems(target: Target, where: Where, newer: Collection[str]) -> Iterator[Problem]:
    """Engine arguments that vLLM does not know, or that the profile says elsewhere."""
    for key, value in target.engine_args.items():
        if key in _ELSEWHERE:
            remedy = f"write it as {_ELSEWHERE[key]}"
            yield Problem((*where, key), "does not belong in engine_args", value, "", remedy)
    yield from _unknown_keys(target.engine_args, ENGINE_ARGS, where, newer)


def _unknown_keys(
    table: dict[str, Any], known: frozenset[str], where: Where, newer: Collection[str]
) -> Iterator[Problem]:
    escape = (
        f"check the spelling; if your vLLM is newer than {SOURCE_VERSION} and has it, "
        "list it in newer_vllm_keys"
    )
    for key, value in table.items():
        if key not in known and key not in newer:
            remedy = did_you_mean(key, known, escape)
            # Some 250 engine arguments are no help in a message.
            allowed = (
                sorted(known) if len(known) < 50 else f"the EngineArgs of vLLM {SOURCE_VERSION}"
            )
            yield Problem((*where, key), "unknown key", value, allowed, remedy)


def _method_problems(config: dict[str, Any], where: Where) -> Iterator[Problem]:
    here, allowed = (*where, "method"), sorted(METHODS)
    if "method" not in config:
        yield Problem(here, "missing key", "", allowed, "add method")
        return
    method = config["method"]
    if not isinstance(method, str):
        yield Problem(here, "unknown method", method, allowed, "write one of these as a string")
    elif method in DEPRECATED_METHODS:
        yield Problem(here, "old name of a method", method, allowed, 'write method = "mtp"')
    elif method not in METHODS:
        remedy = did_you_mean(method, METHODS, "choose one of these")
        yield Problem(here, "unknown method", method, allowed, remedy)


def _k_problems(config: dict[str, Any], where: Where) -> Iterator[Problem]:
    here, allowed = (*where, "num_speculative_tokens"), "an integer >= 1"
    if "num_speculative_tokens" not in config:
        yield Problem(here, "missing key", allowed=allowed, remedy="add k, such as 3")
        return
    k = config["num_speculative_tokens"]
    if type(k) is not int or k < 1:
        remedy = "give k >= 1; standard decoding is the variant 'none'"
        yield Problem(here, "k out of range", k, allowed, remedy)


def _model_problems(config: dict[str, Any], where: Where) -> Iterator[Problem]:
    model = config.get("model")
    if model is None and config["method"] not in MODEL_METHODS:
        return
    if not isinstance(model, str) or not model.strip():
        what = (
            "the class, as package.module.Class"
            if config["method"] == "custom_class"
            else ("the draft's hub id, its folder, or testbed:NAME")
        )
        problem = f"method {config['method']!r} needs a model"
        yield Problem((*where, "model"), problem, model, what, f'add model = "..." ({what})')


def _lookup_problems(config: dict[str, Any], where: Where) -> Iterator[Problem]:
    bounds = {
        key: config[key] for key in ("prompt_lookup_min", "prompt_lookup_max") if key in config
    }
    for key, value in bounds.items():
        if config["method"] not in ("ngram", "ngram_gpu"):
            remedy = "remove it, or use method ngram"
            yield Problem(
                (*where, key), "only n-gram methods look up the prompt", value, "", remedy
            )
        if type(value) is not int or value < 1:
            yield Problem((*where, key), "out of range", value, "an integer >= 1", "correct it")
    if len(bounds) == 2 and bounds["prompt_lookup_min"] > bounds["prompt_lookup_max"]:
        yield Problem(
            (*where, "prompt_lookup_min"),
            "above prompt_lookup_max",
            bounds["prompt_lookup_min"],
            f"1 to {bounds['prompt_lookup_max']}",
            "swap the two",
        )


def _name_problems(variant: Variant, where: Where) -> Iterator[Problem]:
    """A name that says another method or k would file its baselines under a lie."""
    stem = f"{variant.method}-k{variant.k}"
    if not re.fullmatch(re.escape(stem) + r"(-.+)?", variant.name):
        remedy = f"rename the variant {stem!r}, or correct its speculative_config"
        allowed = f"{stem}, or {stem}-SUFFIX"
        yield Problem(
            (*where, "name"), "name and speculative_config disagree", variant.name, allowed, remedy
        )
