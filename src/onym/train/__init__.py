"""Training: samples from knowledge bases and datasets, losses, and the stages of each family of models.

`run` trains a stage and publishes the model, `pipeline` trains several stages in turn. `configs` and `stages` read
configurations without torch. Families: `generative` and `prefer`, `encoder`, `collective` and `detector` over
`document_model`, and without torch `mentions` and `rerank`. They share `context`, `start`, `precision`, `trainer` and `card`.

Invariants: only labelled tokens contribute to a loss, and every model is stored with a record of its training.
"""
