"""Generative linking: a sequence-to-sequence model reads the mention in its context and writes a name.

The decoder may only write names of the knowledge base: a prefix tree (trie) of all tokenised names says which tokens may
follow. The probability of a name is the score of its concepts. ANGEL trains the same model further, to prefer right names to
similar wrong ones.

Hongyi Yuan, Zheng Yuan and Sheng Yu (2022), "Generative biomedical entity linking via knowledge base-guided pre-training and
synonyms-aware fine-tuning" (GenBioEL), NAACL.
Chanhwi Kim, Hyunjae Kim, Sihyeon Park, Jiwoo Lee, Mujeen Sung and Jaewoo Kang (2025), "Learning from negative samples in
biomedical generative entity linking" (ANGEL), Findings of ACL.

| module | has |
|---|---|
| `linker` | the linker `generative` |
| `template` | the input with the marked mention, the prompt of the decoder, and the names as targets |
| `trie/` | the prefix tree of names: built with NumPy, memory-mapped |
| `decoding/` | beam search and exact search of the trie with a model; BART and T5 |

Use it for the published models, or where the context of a mention decides and time does not. `onym.train.generative` trains it:
`pretrain` and `finetune` (GenBioEL), `prefer` (ANGEL, section 3.2).
"""
