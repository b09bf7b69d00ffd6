"""Suites of the command line: unusual environments, unusual inputs and interrupted downloads."""
