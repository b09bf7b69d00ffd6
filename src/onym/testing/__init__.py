"""Helpers for tests of Onym and its plug-ins: small releases of every format, documents for property tests, tiny models.

`documents` needs `pip install 'onym[testing]'`; `models`, except for the reranker, needs `pip install 'onym[dense]'`.
All data is made up, and no other package of Onym imports this one.
"""
