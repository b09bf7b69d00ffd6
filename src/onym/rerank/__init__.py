"""Reranking: the pool of candidates for a mention, their features, the memory of training mentions, and the trees.

The linker `rerank` puts these together; training fits them.
"""
