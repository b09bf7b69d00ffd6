"""The only door to offsets: normalisation, boundaries, windows. May import: store, types, errors."""
