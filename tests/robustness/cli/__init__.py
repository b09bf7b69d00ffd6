"""The command line in odd surroundings, on odd inputs, and with interrupted downloads."""
