"""Limits on untrusted input (see docs/reference/limits.md), and conversion of Rust panics to errors."""

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
    """Limits on input files, which bound the time and memory to read them. Raise a limit only for files that you trust.

    >>> Limits(line_bytes=80).line_bytes
    80
    """

    unpacked_bytes: int = 64 * GB
    ratio: int = 100  # unpacked bytes / packed bytes; real ontologies reach 49
    ratio_grace_bytes: int = 4 * MIB  # files that unpack to fewer bytes are exempt from the ratio limit
    archive_members: int = 10_000
    document_bytes: int = 8 * MIB  # bytes of one document's text, in any format
    document_lines: int = 100_000  # lines of one document, in formats with one annotation per line
    document_values: int = 500_000  # JSON values in one line of JSONL; each takes about 60 bytes of memory
    line_bytes: int = 1 * MIB
    row_bytes: int = 256 * KIB  # bytes of one table row; Arrow reads 32 times as many bytes ahead
    block_bytes: int = 1 * MIB  # bytes of the lines processed at once, and of one record of an OBO or MeSH ASCII file
    xml_depth: int = 64  # levels of nesting below a record
    xml_token_bytes: int = 8 * MIB  # bytes of one text node, or of one tag with its attributes
    xml_record_bytes: int = 16 * MIB
    xml_record_marks: int = 200_000  # tags and attributes of one record; each takes about 250 bytes of memory
    xml_prolog_bytes: int = 64 * KIB
    json_depth: int = 64
    json_token_bytes: int = 8 * MIB  # bytes of one string or number
    json_item_bytes: int = 16 * MIB
    json_item_values: int = 100_000  # values in one item; each takes about 250 bytes of memory
    parquet_bytes: int = 160 * MIB  # bytes of memory to decode one row group
    docbin_bytes: int = 160 * MIB  # unpacked bytes of a DocBin, which is read into memory at once
    docbin_values: int = 500_000  # strings and per-document entries of a DocBin; its tokens are not counted
    manifest_bytes: int = 2 * MIB
    model_json_bytes: int = 4 * MIB  # bytes of one JSON file of a model
    model_header_bytes: int = 2 * MIB  # bytes of the header of a safetensors file
    model_tensors: int = 4_096  # tensors in all weight files of a model; a model with 64 layers has about 2,000
    model_layers: int = 64  # layers of the encoder or the decoder; published models have up to 48
    model_width: int = 131_072  # size of any dimension of a layer
    model_vocabulary: int = 4_000_000  # tokens
    model_positions: int = 1_000_000  # maximum sequence length, in tokens
    tokenizer_bytes: int = 24 * MIB  # bytes of a tokenizer.json; a tokenizer with 250,000 tokens has 17 MB
    tokenizer_values: int = 1_200_000  # keys, values and lists in a tokenizer.json; one with 250,000 tokens has 750,000


DEFAULT_LIMITS = Limits()


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Convert a Rust panic to a RuntimeError. The panic's message is dropped, because it may contain document text.

    >>> with panics_as_errors():
    ...     raise SystemExit(2)
    Traceback (most recent call last):
    SystemExit: 2
    """
    try:
        yield
    except BaseException as e:
        if is_panic(e):
            raise RuntimeError("a Rust library panicked") from None
        raise
