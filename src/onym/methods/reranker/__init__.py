"""Reranker: pools the candidates of several linkers and ranks them by their probability of being right.

Candidates are names that match, similar names, nearest names, and the concepts that the surface had in annotated documents.
Each pair of a mention and a candidate has about fifty features, and gradient-boosted trees turn them into a probability. Where
a name alone says which concept is meant, the name decides.

| module | has |
|---|---|
| `linker` | the linker `rerank`, and the evidence for its answers |
| `pool` | the candidates, by source |
| `features` | the table of features: name, group and meaning of each |
| `surfaces` | features of mentions that are written alike, computed once |
| `decided` | names that decide |
| `model` | the folder of a reranker: trees, calibration and memory |

Trees and memory themselves are in `onym.methods.trees`. Use it whenever annotated documents of the vocabulary exist: it is the
linker of the pack `starter`. `onym.train.reranker` trains it (`onym train rerank`).
"""
