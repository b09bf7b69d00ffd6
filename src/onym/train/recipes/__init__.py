"""Recipes: a configuration in, a model's folder out. Each is one function that goes on where it was stopped."""

from onym.train.recipes.run import train

__all__ = ["train"]
