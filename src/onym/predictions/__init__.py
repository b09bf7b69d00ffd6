"""Files of answers: predictions of linkers, and mappings of terms.

May import: linkers, detect, decoding, index, encoders, trie, datasets, corpora, kb, text, store, types, errors.
Always true here: predictions hold ids, offsets and scores, but no text and no names.
"""
