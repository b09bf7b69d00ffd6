"""Training of models that read whole documents (Bhowmik et al.): finding mentions, linking them, or both."""
