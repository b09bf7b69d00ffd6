"""The benchmark `same-answers`: every way to link, on the same texts."""
