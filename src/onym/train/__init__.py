"""Training: samples from knowledge bases and datasets, losses, and the stages of each family of models.

`run` trains one stage and writes the model, `pipeline` trains all stages of a pipeline. `configs` and `stages` read
configurations. Neural models: `generative`, `prefer`, `encoder`, `collective` and `detector`. The last two share
`document_model`; all five use `context`, `start`, `precision` and `trainer`. `mentions` and `rerank` do not need torch.

Invariants: only labelled tokens contribute to a loss, and every model is stored with a record of its training.
"""
