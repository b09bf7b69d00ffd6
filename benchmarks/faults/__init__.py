"""Commands whose file system fails, or whose machine loses power: what they leave behind must be whole."""
