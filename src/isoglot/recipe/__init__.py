"""Recipes: one run as YAML, read strictly, with every mistake listed before any work starts."""
