"""Tests of encoders that ONNX Runtime computes."""
