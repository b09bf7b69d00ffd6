"""Training of generative models (GenBioEL, ANGEL): pre-training, fine-tuning, preference optimisation."""
