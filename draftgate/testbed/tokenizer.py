"""The family's tokenizer: byte-level BPE with single digits and a chat template."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from draftgate.testbed.corpus import Example
from draftgate.testbed.shapes import MAX_POSITIONS, VOCAB_SIZE

PAD, BOS, USER, ASSISTANT, END = "<|pad|>", "<|bos|>", "<|user|>", "<|assistant|>", "<|end|>"
FRAME = (1, 2, 4, 3)  # ids of BOS, USER, END, ASSISTANT
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train(examples: Iterable[Example], folder: Path) -> None:
    """Train on the examples and save a `transformers` tokenizer into ``folder``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[PAD, BOS, USER, ASSISTANT, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((f"{e.prompt}\n{e.answer}" for e in examples), trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=END,
        chat_template=CHAT_TEMPLATE,
        model_max_length=MAX_POSITIONS,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)


def load(folder: Path) -> Any:
    """The tokenizer saved in ``folder``."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def chat_prompt(prompt: str) -> str:
    """``prompt`` as the chat template renders it for generation."""
    return f"{BOS}{USER}{prompt}{END}{ASSISTANT}"
