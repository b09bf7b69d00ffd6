"""The state of the code itself: imports, words, and work that must be done once."""
