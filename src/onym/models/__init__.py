"""Models: encoders, tokenizers, and templates of what a model reads. ONNX Runtime and torch are behind one interface.

Always true here: no code of a model's own is run, and nothing is fetched.
"""
