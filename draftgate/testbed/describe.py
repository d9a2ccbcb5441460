"""Write the family's README: what it is, and three samples a workload from real vLLM.

python -m draftgate.testbed.describe
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest
from draftgate.testbed import corpus, family
from draftgate.testbed import tokenizer as tok

SAMPLES = 3
MAX_TOKENS = 420

HEADER = """\
# The testbed's models

Made by `make testbed` (`draftgate/testbed/`): a generated corpus of six miniature workloads, a BPE
tokenizer of 1024 tokens, a Llama target of 8 layers that was taught to copy before it saw text, and
drafts distilled from it. Weights are float16 and run in float32.

`make testbed` makes such a family in one go. These weights took three: after 8.6 of the target's
13.3 million tokens the code corpus became easier to copy (no number twice, names used evenly),
after 12.5 (of the drafts' 2.3 million, after 1.6) the derivations of aime became shorter.

| folder | what |
|---|---|
| `llama-tiny` | target: hidden size 192, 8 layers, 3 heads, MLP 384 |
| `llama-tiny-draft` | draft model: hidden size 128, 2 layers |
| `llama-tiny-eagle` | EAGLE head: one layer, the target's embedding and output head |
| `llama-tiny-eagle3` | EAGLE-3 head: residual streams after layers 2, 4, 6; draft vocabulary 512 |
| `glm-tiny-mtp` | the MTP layer of `glm-tiny` |

The rest of `glm-tiny`, a GLM-4-MoE target, is assembled from `llama-tiny` on first use and computes
the same function.

Set `DRAFTGATE_TESTBED` to use a family built elsewhere. `tests/testbed/test_family.py` says what a
family must show; the acceptance lengths are in `baselines/portable/`.

## Samples

Greedy outputs of `llama-tiny` on evaluation prompts, which are disjoint from the training prompts.
"""


def main() -> None:
    """Run the target over the first evaluation prompts and write `README.md` beside the models."""
    spec = EngineSpec(model="testbed:llama-tiny", dtype="float32", max_model_len=1024)
    with (
        tempfile.TemporaryDirectory() as logs,
        EngineHost(spec, label="samples", log_dir=Path(logs)) as host,
    ):
        text = HEADER + "".join(_samples(host))
    (family.root() / "README.md").write_text(text)


def _samples(host: EngineHost) -> Iterator[str]:
    tokenizer = tok.load(family.root() / "llama-tiny")
    for workload in corpus.WORKLOADS:
        examples = corpus.evaluation(workload, SAMPLES)
        prompts = tuple(RoundPrompt(prompt_id=e.prompt[:20], text=e.prompt) for e in examples)
        record = host.generate(
            RoundRequest(prompts=prompts, batch_size=SAMPLES, max_tokens=MAX_TOKENS)
        )
        yield f"\n### {workload}\n"
        for example, request in zip(examples, record.requests, strict=True):
            answer = tokenizer.decode(request.output_token_ids, skip_special_tokens=True)
            yield f"\nPrompt:\n\n{_block(example.prompt)}\nOutput:\n\n{_block(answer)}"


def _block(text: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


if __name__ == "__main__":
    main()
