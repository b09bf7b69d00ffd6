"""What many tests need: small releases of every format, documents for property tests, tiny models. All data is made up."""
