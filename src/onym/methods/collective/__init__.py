"""Collective linking: a document is encoded once, and all its mentions are linked together.

A transformer reads the whole document in overlapping windows. A mention is the mean of the vectors of its tokens, mapped to the
space of the names' embeddings, and is linked to the nearest of them; so the time depends on the length of the document, not on
the number of mentions.

Rajarshi Bhowmik, Karl Stratos and Gerard de Melo (2021), "Fast and effective biomedical entity linking using a dual encoder",
LOUHI.

| module | has |
|---|---|
| `linker` | the linker `collective` |
| `model` | the document encoder with its heads, for mention detection and for linking, on torch |
| `settings` | the settings of such models, and checks of their folders |
| `documents`, `torch_documents` | from documents of any length to vectors of tokens |
| `onnx_model`, `onnx_graph` | the same without torch, for detection only |

Names are encoded and searched as in `onym.methods.dense`. Use it for long documents with many mentions, if training data exists
for the vocabulary. `onym.train.collective` trains it.
"""
