"""Work that must be done once."""
