"""Student: a network of a few megabytes that tags the words of a text, on NumPy or ONNX Runtime.

A word is the sum of embeddings of its hashed spellings, and of marks for the names of the knowledge base that it is in. A few
convolutions add its context, and each token gets a tag (begin, inside, end, single) for each type; Viterbi search over the tags
gives the mentions. It learns from annotated documents, and from the probabilities that larger detectors give to texts without
annotations (distillation: Hinton, Vinyals and Dean, 2015, "Distilling the knowledge in a neural network").

| module | has |
|---|---|
| `detector` | the detector `student` |
| `name_bits` | the marks of tokens that are in names of the knowledge base |
| `network` | the network on NumPy, and its files |
| `onnx_network` | the same network as a graph for ONNX Runtime |
| `tags` | from tags of tokens to spans |

Use it where `tagger` is too slow or torch is not wanted: it runs at the speed of a dictionary. The detector of the pack
`starter` is one. `onym.train.student` trains it.
"""
