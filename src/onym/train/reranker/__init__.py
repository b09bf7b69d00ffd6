"""Training of the reranker (`onym train rerank`): see `onym.methods.reranker`. `onym.train.trees` fits the trees."""
