"""Training of encoders (`onym train align`, `match`): see `onym.methods.dense`.

| module | has |
|---|---|
| `trainer` | the stages: names of one concept together (SapBERT, section 2), mentions to names (appendix A.3); the loss |
| `pairs` | pairs of names, and hard pairs: the nearest wrong names of each mention |
"""
