"""A table of replaced ids, given by hand: two columns, the old id and the new one."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from onym.errors import InputError
from onym.kb.curie import curies
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table

_NAMES = (("old", "new"), ("retired_id", "replaced_by"), ("from", "to"))


def read_replacements(path: Path, prefix: str = "mesh") -> pl.DataFrame:
    """Return the columns `concept` and `successor` as CURIEs; the first two columns count where none is called so."""
    file = InputFile.from_path(path)
    form = TableFormat(delimiter="," if file.stem.endswith(".csv") else "\t", quoted=True)
    there = header(file, form)
    if len(there) < 2:
        raise InputError("table-columns", "two columns were expected, the old id and the new one", where=file.name)
    old, new = next((pair for pair in _NAMES if set(pair) <= set(there)), (there[0], there[1]))
    frames = [pl.DataFrame(batch) for batch in iter_table(file, form, [old, new])]
    rows = pl.concat(frames) if frames else pl.DataFrame(schema={old: pl.String, new: pl.String})
    filled = rows.filter((pl.col(old) != "") & (pl.col(new) != ""))
    return filled.select(concept=curies(pl.col(old), prefix), successor=curies(pl.col(new), prefix))
