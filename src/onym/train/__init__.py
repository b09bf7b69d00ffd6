"""Training: what is needed to train the methods of `onym.methods` only, in folders of the same names.

| module | has |
|---|---|
| `run`, `pipeline` | train one stage and write the model; train all stages of a pipeline |
| `configs`, `stages`, `presets/` | configurations of the stages |
| `context`, `corpora` | the data: of neural models, and of those that need no torch |
| `samples/` | samples that several methods use |
| `start`, `trainer`, `precision` | encoders to start from, the trainer, device and precision of neural models |
| `trees` | fits gradient-boosted trees |
| `card` | model cards and training records |

Invariants: only labelled tokens contribute to a loss, and every model is stored with a record of its training.
"""
