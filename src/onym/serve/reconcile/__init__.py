"""The W3C Reconciliation Service API 0.2, which OpenRefine speaks: matching, suggestions, previews and data extension.

The modules `matching`, `suggestions`, `extension`, `manifest` and `acts` run in linker processes, the others where HTTP is.
"""
