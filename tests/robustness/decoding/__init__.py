"""Search over a trie compared with slow and certain ways to get the same answer."""
