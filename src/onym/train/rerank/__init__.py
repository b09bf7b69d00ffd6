"""Training of rerankers: pooled candidates of annotated mentions, their features, and gradient-boosted trees over them."""
