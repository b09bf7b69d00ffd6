"""Several methods as one: linkers and detectors that are made of others.

`cascade` tries linkers in the order of their cost: exact match first, then the nearest names, then a generative model or a
reranker for what is not decided yet. `by_type` gives each mention to the linker of its type. `several` joins the mentions of
several detectors and resolves their overlaps by one rule.

| module | has |
|---|---|
| `cascade` | the linker `cascade` |
| `by_type` | the linker `by_type` |
| `several` | the detector `several`: `--detector student,dictionary` |

Use `by_type` and `several` for texts with mentions of many kinds, such as genes beside diseases. Use `cascade` if most mentions
are names of the knowledge base, and the rest is worth the time of a model.
"""
