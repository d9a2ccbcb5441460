"""Whether speculative decoding emits what the target alone would have emitted.

`law` says what must hold, exactly. Everything else in this room asks whether vLLM's samplers obey
it: `batch` is one verification step, `samplers` the interface to the samplers, `trial` and
`goodness` turn many steps into evidence, `significance` says how much evidence is enough.
"""
