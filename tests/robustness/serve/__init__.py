"""Suites of the HTTP service: faults, overload, hostile pages, and third-party clients."""
