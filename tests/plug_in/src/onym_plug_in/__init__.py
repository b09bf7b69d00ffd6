"""Parts that somebody else adds to Onym."""
