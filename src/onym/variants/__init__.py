"""Variants: patterns of variant mentions, their normal form in HGVS, and the rs ids and genes that a document gives them."""
