"""Training of detectors on several corpora together: spans with a probability for each type that a corpus annotates."""
