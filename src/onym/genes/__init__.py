"""Genes: species of gene mentions, keys of gene names, and the trees that choose a gene among those of all species."""
