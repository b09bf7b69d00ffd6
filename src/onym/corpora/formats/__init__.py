"""The formats of corpora, one module each. A module is a `Format` of `corpora/base.py`."""

from __future__ import annotations

from typing import cast

from onym.corpora.base import Format
from onym.errors import ConfigError
from onym.registry import FORMATS
from onym.store.files.source import Source

# In the order in which a corpus is tried: the most particular first.
ORDER = (
    "parquet", "brat", "biosyn", "genbioel", "pubtator", "pubmed", "bioc_xml", "bioc_json", "bigbio", "pubannotation", "jsonl",
    "hpo_gsc", "cometa", "askapatient", "text",
)  # fmt: skip
READ_ONLY = ("pubmed",)
_ALSO = {"bioc": "bioc_xml"}  # as most programs write it


def detect(source: Source) -> str:
    """Return the format of a corpus.

    >>> from onym.store.files.source import InputFile
    >>> detect(Source.of_files("a", [InputFile.from_bytes("a.txt", b"1|t|Fever\\n1|a|\\n")]))
    'pubtator'
    """
    for name in FORMATS.names_in_order:
        if get(name).matches(source):
            return name
    fix = f"name the format; known are {', '.join(FORMATS.names)}"
    raise ConfigError("format-unknown", "the format is not recognised", where=source.name, fix=fix)


def get(name: str) -> Format:
    """Return the format of that name.

    >>> get("bioc").__name__
    'onym.corpora.formats.bioc_xml'
    """
    return cast("Format", FORMATS.load(_ALSO.get(name, name)))
