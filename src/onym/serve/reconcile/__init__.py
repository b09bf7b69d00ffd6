"""The W3C Reconciliation Service API 0.2, as used by OpenRefine: matching, suggestions, previews and data extension.

`matching` runs in linker processes, `routes` in the HTTP process, and `concepts` in both.
"""
