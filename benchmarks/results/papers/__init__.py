"""The reranker under the published evaluation settings: splits, dictionaries and protocol of the papers. For measuring only."""
