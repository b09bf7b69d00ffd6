"""How each family of seq2seq models computes: its own weights, in the shape that the search wants."""

from onym.decoding.adapters.base import Adapter
from onym.decoding.adapters.load import adapter_of

__all__ = ["Adapter", "adapter_of"]
