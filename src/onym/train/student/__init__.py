"""Training of the student (`onym train student`): see `onym.methods.student`.

| module | has |
|---|---|
| `trainer` | the stage: documents, training, thresholds |
| `network` | the network as a torch module, and its training loop |
| `tagged` | documents as arrays of tokens and tags |
| `teaching` | soft labels: probabilities of larger detectors for texts without annotations |
"""
