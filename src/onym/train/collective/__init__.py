"""Training of collective models (`onym train collective`): see `onym.methods.collective`.

| module | has |
|---|---|
| `trainer` | the stage: detection and linking in one model, hard negatives after each epoch (Bhowmik et al., section 3.2) |
| `document_model` | the torch module with its loss, its batches, and F1; the tagger trains it too |
"""
