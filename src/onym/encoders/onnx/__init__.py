"""Encoders that ONNX Runtime computes: for machines without torch, and for weights in int8.

The graph is made here, from the configuration and the tensors of a model's folder. No file with a graph of its own is ever
read: such a file says which code is run.
"""
