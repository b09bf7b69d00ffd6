"""Training of the classifier that tells mentions from words, for the dictionary."""
