"""What tests of Onym and of its plug-ins need: small releases of every format, documents for property tests, tiny models.

`documents` needs `pip install 'onym[testing]'`; in `models`, all but the reranker needs
`pip install 'onym[dense]'`.
Always true here: everything is made up, and nothing in the product imports this package.
"""
