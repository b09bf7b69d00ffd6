"""Suite of attacks on the commands and the service."""
