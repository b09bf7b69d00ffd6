"""Limits on untrusted input, listed in docs/reference/limits.md; and conversion of Rust panics to errors."""

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
    """Limits on the time and memory that a file can cost. Raise them only for files you trust.

    >>> Limits(line_bytes=80).line_bytes
    80
    """

    unpacked_bytes: int = 64 * GB
    ratio: int = 100  # unpacked bytes / packed bytes; real ontologies reach 49
    ratio_grace_bytes: int = 4 * MIB  # smaller outputs are exempt from the ratio limit
    archive_members: int = 10_000
    document_bytes: int = 8 * MIB  # text of one document, in any format
    document_lines: int = 100_000  # of one document, in formats with one annotation per line
    document_values: int = 500_000  # JSON values in one line of JSONL; about 60 bytes of memory each
    line_bytes: int = 1 * MIB
    row_bytes: int = 256 * KIB  # one row of a table; Arrow reads ahead 32 times as much
    block_bytes: int = 1 * MIB  # lines processed at once, and one record of an OBO or MeSH ASCII file
    xml_depth: int = 64  # nesting below a record
    xml_token_bytes: int = 8 * MIB  # one text node, or one tag with its attributes
    xml_record_bytes: int = 16 * MIB
    xml_record_marks: int = 200_000  # tags and attributes; about 250 bytes of memory each
    xml_prolog_bytes: int = 64 * KIB
    json_depth: int = 64
    json_token_bytes: int = 8 * MIB  # one string or number
    json_item_bytes: int = 16 * MIB
    json_item_values: int = 100_000  # about 250 bytes of memory each
    parquet_bytes: int = 160 * MIB  # memory to decode one row group
    docbin_bytes: int = 160 * MIB  # a DocBin is read into memory as a whole
    docbin_values: int = 500_000  # msgpack values of a DocBin: its strings and per-document entries; tokens are not counted
    manifest_bytes: int = 2 * MIB
    model_json_bytes: int = 4 * MIB  # one JSON file of a model
    model_header_bytes: int = 2 * MIB  # the header of a safetensors file
    model_tensors: int = 4_096  # in all weight files; a model with 64 layers has about 2,000
    model_layers: int = 64  # of the encoder or the decoder; published models have up to 48
    model_width: int = 131_072  # any dimension of a layer
    model_vocabulary: int = 4_000_000  # tokens
    model_positions: int = 1_000_000  # maximum sequence length, in tokens
    tokenizer_bytes: int = 24 * MIB  # a tokenizer.json; with 250,000 tokens it has 17 MB
    tokenizer_values: int = 1_200_000  # keys, values and lists in it; with 250,000 tokens it has 750,000


DEFAULT_LIMITS = Limits()


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Convert a panic of tokenizers or safetensors to a RuntimeError, without its message, which may contain document text.

    >>> with panics_as_errors():
    ...     raise SystemExit(2)
    Traceback (most recent call last):
    SystemExit: 2
    """
    try:
        yield
    except BaseException as e:
        if is_panic(e):
            raise RuntimeError("a library panicked") from None
        raise
