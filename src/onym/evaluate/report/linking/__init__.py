"""The report of a linker on annotated mentions.

content    the values
build      from an evaluation to the values
html       the page
plots      its plots
table      tables for the terminal
"""

from onym.evaluate.report.linking.build import content_of
from onym.evaluate.report.linking.html import linking_page
from onym.evaluate.report.linking.table import linking_tables

__all__ = ["content_of", "linking_page", "linking_tables"]
