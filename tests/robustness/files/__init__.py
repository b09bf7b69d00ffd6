"""Files that are hostile, mutated or enormous once decoded; and those that must come back as they were written."""
