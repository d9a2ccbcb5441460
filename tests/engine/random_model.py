"""A tiny Llama checkpoint with random weights, for tests that need vLLM but no trained model."""

from __future__ import annotations

from pathlib import Path

CHAT_TEMPLATE = (
    "{% for message in messages %}<user>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def write_checkpoint(folder: Path, vocab_size: int = 512, seed: int = 0) -> Path:
    """Write model and tokenizer to ``folder``.

    The layers' contributions are damped, so that greedy output soon depends on the last token
    alone and runs in a cycle: n-gram drafts are then accepted often, but not always.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        intermediate_size=128,
        vocab_size=vocab_size,
        max_position_embeddings=256,
        tie_word_embeddings=False,
        initializer_range=0.08,
        bos_token_id=0,
        eos_token_id=1,
    )
    model = LlamaForCausalLM(config)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.data *= 0.3
        layer.mlp.down_proj.weight.data *= 0.3
    model.half().save_pretrained(folder)
    _write_tokenizer(folder, vocab_size)
    return folder


def _write_tokenizer(folder: Path, vocab_size: int) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<bos>", "<eos>", "<user>", "<assistant>", "<unk>"]
    words = special + [f"w{number}" for number in range(vocab_size - len(special))]
    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", unk_token="<unk>"
    )
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
