"""Runs of `onym batch` whose processes are killed, or whose surroundings fail."""
