"""`python -m onym` is `onym`."""

from onym.cli import main

if __name__ == "__main__":
    main()
