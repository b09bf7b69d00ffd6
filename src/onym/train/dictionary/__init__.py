"""Training of the dictionary's classifier of mentions (`onym train mentions`): see `onym.methods.dictionary`."""
