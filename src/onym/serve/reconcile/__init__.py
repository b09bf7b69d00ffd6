"""The W3C Reconciliation Service API 0.2, which OpenRefine speaks: matching, suggestions, previews and data extension.

The module `matching` runs in linker processes, `routes` and `queries` where HTTP is, and `concepts` in both.
"""
