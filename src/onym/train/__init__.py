"""Training: samples from knowledge bases and datasets, losses, and the stages of each family of models.

May import: evaluate and everything below it.
Always true here: only tokens with a label contribute to a loss, and every model is stored with a record of its training.
"""
