"""The version of the package, where each package can read it without importing the whole."""

__version__ = "0.1.0"
