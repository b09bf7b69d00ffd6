"""Models: encoders, tokenizers, and input templates, with one interface for torch and ONNX Runtime.

Code shipped with a model is never executed, and nothing is downloaded.
"""
