"""Tests of encoders on ONNX Runtime."""
