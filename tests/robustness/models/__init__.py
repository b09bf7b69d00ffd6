"""Suite of hostile model folders."""
