"""Onym and other entity linkers on the same knowledge base, the same documents and the same evaluator."""
