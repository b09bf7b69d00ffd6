"""What the reranker and the linkers of genes and organisms share: trees that score candidates, and a memory of mentions.

| module | has |
|---|---|
| `trees` | gradient-boosted trees as plain arrays, their files, and the calibration of the best candidate |
| `leaf_masks` | their evaluation with NumPy |
| `memory` | how often a surface was annotated with each concept |
| `linker` | the base class of linkers that read one document at a time and score its candidates with trees |

`onym.train.trees` fits the trees.
"""
