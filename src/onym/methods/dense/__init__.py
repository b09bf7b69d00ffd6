"""Dense linking: an encoder maps mentions and names to vectors, and a mention is linked to the concepts of the nearest names.

The encoder learns from the synonyms of a knowledge base: names of one concept are pulled together, and the names of other
concepts that are nearest to them are pushed apart. So it finds synonyms that share no letters. All names are encoded once, into
an index that is kept with the knowledge base.

Fangyu Liu, Ehsan Shareghi, Zaiqiao Meng, Marco Basaldella and Nigel Collier (2021), "Self-alignment pretraining for biomedical
entity representations" (SapBERT), NAACL.

| module | has |
|---|---|
| `linker` | the linker `dense` |
| `index/` | embeddings of all names, the FAISS indexes of them, and the search for nearest names |

The encoders themselves are in `onym.models`. Use it with a SapBERT model if mentions are paraphrases; as one source of
`onym.methods.reranker` it is more accurate than alone. `onym.train.dense` trains encoders (`onym train align`, `match`), and
mines the hard pairs.
"""
