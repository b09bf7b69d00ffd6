"""Robustness suites: fuzzing, I/O faults, killed processes, hostile files, unusual environments, text leaks, exact search."""
