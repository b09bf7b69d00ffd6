"""An evaluation as a page for people, and as tables for the terminal. Both show one `ReportContent`: plain values, no more.

content    the values
html       one self-contained page: no scripts, nothing fetched
plots      the figures of the page, by matplotlib (`onym[report]`)
table      tables for the terminal
"""

from __future__ import annotations

from onym.evaluate.report.content import (
    Bin,
    ExampleRow,
    Headline,
    MistakeRow,
    NeighbourRow,
    RecallPoint,
    ReportContent,
    SliceRow,
)
from onym.evaluate.report.html import html_report
from onym.evaluate.report.table import report_tables

__all__ = [
    "Bin",
    "ExampleRow",
    "Headline",
    "MistakeRow",
    "NeighbourRow",
    "RecallPoint",
    "ReportContent",
    "SliceRow",
    "html_report",
    "report_tables",
]
