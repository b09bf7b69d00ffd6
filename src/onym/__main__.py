"""Runs the `onym` command as `python -m onym`."""

from onym.cli import main

if __name__ == "__main__":
    main()
