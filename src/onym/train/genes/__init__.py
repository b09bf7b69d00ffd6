"""Training of the linkers of genes and organisms (`onym train genes`, `organisms`): see `onym.methods.genes`."""
