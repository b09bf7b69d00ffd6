"""Classifiers of what the dictionary finds, trained."""
