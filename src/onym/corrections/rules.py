"""Rules of corrections: what a surface means, and where."""

from __future__ import annotations

from onym.text.normal import normal_name

CASE_SENSITIVE_BELOW = 4
"""Surfaces of up to this many letters and digits are compared case-sensitively, unless the detector has another limit."""


def surface_key(surface: str, case_sensitive_below: int = CASE_SENSITIVE_BELOW) -> str:
    """Return the form by which a rule finds a surface: short surfaces keep their case, others are normalised like names.

    >>> surface_key("M.S."), surface_key("MS"), surface_key("Ms"), surface_key("Heart-Attack")
    ('=MS', '=MS', '=Ms', 'heart attack')
    """
    bare = "".join(filter(str.isalnum, surface))
    if len(bare) <= case_sensitive_below:
        return f"={bare or surface.strip()}"  # the normal form of a name has no equals sign
    return normal_name(surface)
