"""The reranker on the papers' own tables: their splits, dictionaries and protocol. To measure; nothing of it is passed on."""
