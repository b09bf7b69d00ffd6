"""Reports: HTML pages, and tables for the terminal.

linking      the report of a linker on annotated mentions
end_to_end   the report of a pipeline that finds the mentions itself
comparison   two linkers, for the terminal
page         the parts of an HTML page: no scripts, nothing fetched
plots        plots of a page, by matplotlib (`onym[report]`)
tables       tables for the terminal
"""
