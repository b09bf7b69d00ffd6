"""Limits for anything from outside, listed in docs/reference/limits.md; and panics of Rust libraries as errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from onym.errors import is_panic

KIB = 1024
MIB = 1024 * KIB
GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what a file may make us do. Lower them freely; raise them only for files you trust.

    >>> Limits(line_bytes=80).line_bytes
    80
    """

    unpacked_bytes: int = 64 * GB
    ratio: int = 100  # unpacked to packed bytes; real ontologies reach 49
    ratio_grace_bytes: int = 4 * MIB  # the ratio counts only beyond this much output
    archive_members: int = 10_000
    document_bytes: int = 8 * MIB  # text of one document, in every format
    document_lines: int = 100_000  # of one document, where each of its annotations is a line
    document_values: int = 500_000  # of one document that is a line of JSON; some 60 bytes of memory each
    line_bytes: int = 1 * MIB
    row_bytes: int = 256 * KIB  # of a table; Arrow reads 32 times as much ahead
    block_bytes: int = 1 * MIB  # of lines worked on at once, and of one record of OBO and MeSH's ASCII form
    xml_depth: int = 64  # below a record
    xml_token_bytes: int = 8 * MIB  # one text, or one tag with its attributes
    xml_record_bytes: int = 16 * MIB
    xml_record_marks: int = 200_000  # tags and attributes; some 250 bytes of memory each
    xml_prolog_bytes: int = 64 * KIB
    json_depth: int = 64
    json_token_bytes: int = 8 * MIB  # one text or number
    json_item_bytes: int = 16 * MIB
    json_item_values: int = 100_000  # some 250 bytes of memory each
    parquet_bytes: int = 160 * MIB  # to decode rows of one row group
    docbin_bytes: int = 160 * MIB  # of a DocBin, which is read whole
    docbin_values: int = 500_000  # strings, and what each document of it has; not its tokens, nor a document's own record
    manifest_bytes: int = 2 * MIB
    model_json_bytes: int = 4 * MIB  # one file of settings of a model
    model_header_bytes: int = 2 * MIB  # what a file of weights says of itself
    model_tensors: int = 4_096  # in all files of weights; those of 64 layers have some 2,000
    model_layers: int = 64  # of an encoder or a decoder; published ones have up to 48
    model_width: int = 131_072  # any size within a layer
    model_vocabulary: int = 4_000_000  # tokens
    model_positions: int = 1_000_000  # tokens that a model can read at once
    tokenizer_bytes: int = 24 * MIB  # a tokenizer.json; those of 250,000 tokens have 17 MB
    tokenizer_values: int = 1_200_000  # keys, values and lists in it; those of 250,000 tokens have 750,000


DEFAULT_LIMITS = Limits()


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turn a panic of tokenizers or safetensors into a `RuntimeError`. Its message may hold text, and is left out.

    >>> with panics_as_errors():
    ...     raise SystemExit(2)
    Traceback (most recent call last):
    SystemExit: 2
    """
    try:
        yield
    except BaseException as e:
        if is_panic(e):
            raise RuntimeError("a library has given up") from None
        raise
