"""Suite of privacy: text of documents must never appear in errors, logs or leftover files."""
