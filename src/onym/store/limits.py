"""How large anything from outside may be. Listed for people in docs/reference/limits.md."""

from __future__ import annotations

from dataclasses import dataclass

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
    ratio_grace_bytes: int = 10 * MIB  # the ratio counts only beyond this much output
    archive_members: int = 10_000
    line_bytes: int = 1 * MIB
    block_bytes: int = 8 * MIB
    xml_depth: int = 64
    xml_token_chars: int = 1 * MIB
    xml_record_bytes: int = 8 * MIB  # raw bytes of one record
    xml_prolog_bytes: int = 64 * KIB
    json_depth: int = 64
    json_item_bytes: int = 8 * MIB
    manifest_bytes: int = 16 * MIB


DEFAULT_LIMITS = Limits()
