"""The state of the code itself: size, imports, words, probes, and work that must be done once."""
