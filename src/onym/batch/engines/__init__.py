"""Who links the shards of a run: processes of this machine, or the nodes of a cluster. Each file is one of them."""
