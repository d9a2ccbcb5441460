"""What users ask of an engine besides plain text, each as probes to run with and without drafts.

A feature is a function from standard decoding's plain greedy outputs to requests. It uses them to
place what it tests where it hurts: a stop string, an end or a length in the middle of what an
oracle's window holds. `probe_equality.differences` then compares whole answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from draftgate.engine import ProbeRequest, Sampling
from draftgate.lossless.equality import Text

Feature = Callable[[Sequence[Text]], tuple[ProbeRequest, ...]]

MAX_TOKENS = 48


def _each(
    texts: Sequence[Text], choose: Callable[[int, Text], Sampling]
) -> tuple[ProbeRequest, ...]:
    return tuple(
        ProbeRequest(request_id=text.name, prompt=text.prompt, sampling=choose(index, text))
        for index, text in enumerate(texts)
    )


def _same(**fields: object) -> Feature:
    sampling = Sampling.model_validate({"max_tokens": MAX_TOKENS, **fields})
    return lambda texts: _each(texts, lambda _index, _text: sampling)


def _mixed(**fields: object) -> Feature:
    """Every second request uses the feature; the others must not notice."""
    with_it = Sampling.model_validate({"max_tokens": MAX_TOKENS, **fields})
    plain = Sampling(max_tokens=MAX_TOKENS)
    return lambda texts: _each(texts, lambda index, _text: with_it if index % 2 else plain)


def _stop_string(*, included: bool) -> Feature:
    """Three letters from the middle of each output, which may begin and end inside tokens."""

    def choose(_index: int, text: Text) -> Sampling:
        middle = len(text.shown) // 2
        return Sampling(
            max_tokens=MAX_TOKENS,
            stop=(text.shown[middle : middle + 3] or "\n",),
            include_stop_str_in_output=included,
        )

    return lambda texts: _each(texts, choose)


def _stop_strings(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """Two pieces of a window, the later one named first: the text's order decides."""

    def choose(_index: int, text: Text) -> Sampling:
        middle = len(text.shown) // 2
        pieces = text.shown[middle + 3 : middle + 6], text.shown[middle : middle + 3]
        return Sampling(max_tokens=MAX_TOKENS, stop=tuple(filter(None, pieces)) or ("\n",))

    return _each(texts, choose)


def _stop_string_too_early(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """A piece from the middle, and least lengths that end before, within and behind it."""
    return tuple(
        ProbeRequest(
            request_id=f"{text.name} from {least}",
            prompt=text.prompt,
            sampling=Sampling(
                max_tokens=max(MAX_TOKENS, len(text.output)),
                min_tokens=least,
                stop=(text.shown[len(text.shown) // 2 :][:3] or "\n",),
            ),
        )
        for text in texts
        for least in range(len(text.output) // 2, len(text.output) // 2 + 6)
        if least < len(text.output) - 1  # a later end is forbidden, which is another feature
    )


def _stop_string_with_logprobs(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """Tokens that are cut off take their log-probabilities with them."""
    asked = {"logprobs": 2}
    return tuple(
        request.model_copy(update={"sampling": request.sampling.model_copy(update=asked)})
        for request in _stop_string(included=False)(texts)
    )


def _stop_token(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    return _each(
        texts,
        lambda _index, text: Sampling(
            max_tokens=MAX_TOKENS, stop_token_ids=(text.output[len(text.output) // 2],)
        ),
    )


def _every_length(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """Lengths that end at each place of a window."""
    return _each(texts, lambda index, _text: Sampling(max_tokens=1 + index, ignore_eos=True))


def _least_length(distance: int) -> Feature:
    """``min_tokens`` as many tokens before (or after) each output's natural end.

    After it, the output stops where it may: what follows is another feature.
    """

    def choose(_index: int, text: Text) -> Sampling:
        least = max(0, len(text.output) - 1 + distance)
        return Sampling(max_tokens=max(least, len(text.output)), min_tokens=least)

    return lambda texts: _each(texts, choose)


def _bad_words(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """Words that the outputs hold, so that each is in the way at some place of some window."""

    def choose(_index: int, text: Text) -> Sampling:
        words = sorted({word for word in text.shown.split() if word.isalpha()})
        return Sampling(max_tokens=MAX_TOKENS, bad_words=tuple(words[:4]) or ("the",))

    return _each(texts, choose)


def _allowed(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """Only tokens of other outputs."""
    return _each(
        texts,
        lambda index, _text: Sampling(
            max_tokens=MAX_TOKENS, allowed_token_ids=tuple(sorted(set(texts[index - 1].output)))
        ),
    )


def _arrivals_and_aborts(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """Requests come in every third step, and every third leaves after a few tokens."""
    return tuple(
        ProbeRequest(
            request_id=text.name,
            prompt=text.prompt,
            sampling=Sampling(max_tokens=MAX_TOKENS),
            arrives_at=3 * index,
            aborts_after=5 + index if index % 3 == 1 else None,
        )
        for index, text in enumerate(texts)
    )


def _two_waves(texts: Sequence[Text]) -> tuple[ProbeRequest, ...]:
    """The same requests again, in other slots: what a slot held before must not matter."""
    return tuple(
        ProbeRequest(
            request_id=f"{text.name} wave {wave}",
            prompt=text.prompt,
            sampling=Sampling(max_tokens=8 + 5 * (index % 4)),
        )
        for wave in (1, 2)
        for index, text in enumerate(texts if wave == 1 else texts[::-1])
    )


FEATURES: Mapping[str, Feature] = {
    "plain": _same(),
    "stop-string": _stop_string(included=False),
    "stop-string-included": _stop_string(included=True),
    "stop-strings": _stop_strings,
    "stop-string-too-early": _stop_string_too_early,
    "stop-string-with-logprobs": _stop_string_with_logprobs,
    "stop-token": _stop_token,
    "max-tokens": _every_length,
    "ignore-eos": _same(ignore_eos=True),
    "min-tokens-reached": _least_length(-8),
    "min-tokens-beyond-end": _least_length(6),
    "repetition-penalty": _mixed(repetition_penalty=1.3),
    "frequency-penalty": _mixed(frequency_penalty=0.7),
    "presence-penalty": _mixed(presence_penalty=0.9),
    "bad-words": _bad_words,
    "allowed-tokens": _allowed,
    "logprobs": _mixed(logprobs=3),
    "prompt-logprobs": _mixed(prompt_logprobs=2),
    # vLLM wants a temperature for several outputs; with one token to choose from they are greedy.
    "n-outputs": _mixed(n=3, temperature=1.0, top_k=1),
    "regex": _mixed(regex=r"[A-Z][a-z ]{5,30}\.( [A-Z][a-z ]{5,30}\.)*"),
    "choice": _same(choice=("the answer is yes", "the answer is no", "there is no answer")),
    "json": _mixed(
        json_schema={
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
            "required": ["name", "age"],
        }
    ),
    "arrivals-and-aborts": _arrivals_and_aborts,
    "two-waves": _two_waves,
}

# vLLM refuses these with speculative decoding, rather than to ignore them on draft rows.
REFUSED: Mapping[str, Feature] = {
    "logit-bias": _same(logit_bias={5: -100.0}),
    "min-p": _same(temperature=1.0, min_p=0.2),
}

# Log-probabilities of tokens that the request names (L15).
NAMED_LOGPROBS: Feature = _mixed(logprob_token_ids=(5, 9, 18))

# Where the natural end must come as a bonus token, so it must not be forbidden on that row (L3).
LEAST_LENGTH_AT_END: Feature = _least_length(0)
