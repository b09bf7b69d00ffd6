"""Artefacts: folders that Onym writes, with a manifest, whole or not at all."""
