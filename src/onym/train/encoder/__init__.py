"""Training of encoders (SapBERT): alignment of names, and fine-tuning on mentions."""
