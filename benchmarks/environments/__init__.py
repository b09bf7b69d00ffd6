"""Surroundings that a command line may find itself in, and what it must not do there."""
