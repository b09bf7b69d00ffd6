"""Training of generative models (`onym train pretrain`, `finetune`, `prefer`): see `onym.methods.generative`.

| module | has |
|---|---|
| `trainer` | GenBioEL: pre-training on a knowledge base (section 2.2), fine-tuning on mentions (section 2.3) |
| `statements` | sentences about concepts, for pre-training (section 2.2, appendix E.2) |
| `prefer` | ANGEL: preference optimisation on hard negatives (section 3.2) |
| `losses` | cross-entropy and preference losses |
| `start` | the model to start from |
"""
