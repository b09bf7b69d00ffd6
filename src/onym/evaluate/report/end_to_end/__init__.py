"""The report of a pipeline that finds the mentions itself.

html       the page
table      tables for the terminal
"""

from onym.evaluate.report.end_to_end.html import end_to_end_page
from onym.evaluate.report.end_to_end.table import end_to_end_tables

__all__ = ["end_to_end_page", "end_to_end_tables"]
