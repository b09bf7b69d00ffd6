"""What tests of Onym and of its plug-ins need: small releases of every format, documents for property tests, tiny models.

May import: any room. `documents` needs `pip install 'onym[testing]'`, the tiny models `pip install 'onym[dense]'`.
Always true here: everything is made up, and nothing in the product imports this room.
"""
