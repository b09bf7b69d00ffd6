"""The columns of a packed trie: flat arrays, one entry per node, and one per name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_NAME_TOKENS = 65_534  # tokens of one name; with the token that ends it, the edges fit into 16 bits
MAX_NODES = 2**32 - 1


class Columns(NamedTuple):
    """Node *i* has the children `first[i]` to `first[i + 1]`, and the names `names[low[i]]` to `names[high[i]]` below it."""

    tokens: npt.NDArray[Any]  # the token on the edge into a node; 0 for the root; uint16 if the vocabulary fits, else uint32
    first: npt.NDArray[np.uint32]  # one longer than the nodes
    low: npt.NDArray[np.uint32]
    high: npt.NDArray[np.uint32]
    height: npt.NDArray[np.uint16]  # edges of the longest path down from a node
    names: npt.NDArray[np.uint32]  # name ids, in the lexicographic order of their tokens


def token_type(vocabulary: int) -> np.dtype[Any]:
    """Return the smallest type that holds every token.

    >>> token_type(50_265), token_type(85_401)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.uint16 if vocabulary <= 2**16 else np.uint32)
