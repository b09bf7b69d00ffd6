"""Suites of readers and writers: hostile files, fuzzing, decompression bombs, and round trips."""
