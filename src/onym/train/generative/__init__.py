"""Training to write names (GenBioEL, ANGEL): pre-training, fine-tuning, and learning from mistakes."""
