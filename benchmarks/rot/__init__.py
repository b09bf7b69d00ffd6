"""Bytes of artefacts that change after they were verified, as on a failing disk."""
