"""Readers for untrusted files, within limits: streams, archives, XML, JSON, tables."""
