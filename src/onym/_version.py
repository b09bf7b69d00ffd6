"""The version of the package, importable without importing the rest of it."""

__version__ = "0.1.0"
