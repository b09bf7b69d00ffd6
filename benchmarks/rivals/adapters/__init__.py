"""One module for each tool. It runs in the tool's own environment, so it imports that tool, and nothing of Onym."""
