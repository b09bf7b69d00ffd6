"""Maps the terms of a pandas or polars column to concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onym.errors import InputError
from onym.fields import frame_of
from onym.outputs.mapping import MAPPED_COLUMNS as COLUMNS
from onym.outputs.mapping import map_to_rows
from onym.pipeline.pipeline import Pipeline
from onym.types import Row, kinds_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def map_series(series: pl.Series | pd.Series, pipeline: Pipeline) -> Any:
    """Return a dataframe with the best concept of each term: one row per term, in the order of the series.

    A pandas series gives a pandas dataframe, a polars series a polars dataframe. A null or empty term gets nulls. A term that
    is not linked has the reason in `nil_reason`. Repeated terms are linked only once. A pandas result has the index of the
    series.

    >>> import polars as pl
    >>> from onym import KnowledgeBase, Pipeline, open_linker
    >>> pipeline = Pipeline(open_linker("exact", KnowledgeBase.open(getfixture("tiny_kb"))))
    >>> map_series(pl.Series(["Pyrexia", None, "xyz"]), pipeline)["concept_id", "nil_reason"].rows()
    [('MESH:D005334', None), (None, None), (None, 'no-candidate')]
    """
    kind = type(series).__module__.partition(".")[0]
    if kind not in ("pandas", "polars") or not hasattr(series, "to_list"):
        what = f"expected a pandas or polars Series, not {type(series).__name__}"
        raise InputError("type-series", what, fix="pass a Series of terms")
    terms = [None if is_null else term for term, is_null in zip(series.to_list(), _nulls(series, kind), strict=True)]
    rows = map_to_rows(terms, pipeline)
    if kind == "pandas":
        return _pandas_frame(rows, series)
    return frame_of([[row[name] for name in COLUMNS] for row in rows], kinds_of(COLUMNS))


def _nulls(series: Any, kind: str) -> list[bool]:
    nulls = series.is_null() if kind == "polars" else series.isna()
    return nulls.to_list()  # type: ignore[no-any-return]


def _pandas_frame(rows: Sequence[Row], series: Any) -> Any:
    import pandas as pd

    index = series.index
    kinds = {name: "float64" if kind is float else "string" for name, kind in kinds_of(COLUMNS).items()}
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], index, kinds[name]) for name in COLUMNS}, index)
