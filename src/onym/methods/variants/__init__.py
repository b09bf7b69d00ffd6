"""Variants: finds genetic variants by patterns, and gives them the rs id that the text states, else their form in HGVS.

Patterns recognise HGVS, rs numbers, older notations and changes in words; every repetition in them is bounded, so the time is
linear in the length of the text. The id is computed, so a variant need not be a concept of the knowledge base. The nearest gene
of the document completes it.

| module | has |
|---|---|
| `detector`, `linker` | the detector and the linker `variants` |
| `patterns`, `makers` | the patterns, and what becomes of a match |
| `forms` | a variant as a value, and its HGVS form |
| `naming` | rs ids and genes that the document gives its variants |

Use both together, with `several` and `by_type` beside other types. Nothing is trained.
"""
