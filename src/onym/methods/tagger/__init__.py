"""Tagger: finds mentions with a transformer, by scores of spans of whole words or by BIO tags of words.

It is the mention span detection of Bhowmik et al. (see `onym.methods.collective`) without the linking: the same document
encoder, opened by the same code, with a head for spans or for tags. With several types, each span has a probability for each
type, so that one model is trained on corpora that annotate different types.

| module | has |
|---|---|
| `detector` | the detector `model`: its options, torch or ONNX Runtime |
| `spans` | from vectors of tokens to spans with types and scores |

Use it for the most accurate mentions, and as a teacher of `student`. `onym.train.tagger` trains it (`onym train detect`).
"""
