"""The catalogue from a local server: its files, and a server that breaks off and counts its bytes."""
