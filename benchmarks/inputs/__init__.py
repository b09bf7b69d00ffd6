"""Random trees of files for `inputs-accounted`."""
