"""Training of collective models (Bhowmik et al.): detecting mentions of a whole document, linking them, or both."""
