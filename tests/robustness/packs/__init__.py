"""Suite of hostile packs."""
