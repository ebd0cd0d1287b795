"""Recipes as YAML: read strictly, with the line of every value, and every mistake listed before any work starts.

    file or name ─> source.py (extends, --set) ─> document.py (values and their lines) ─> sections.py (typed sections)

Open ``source.py`` first: a recipe is found, laid over the recipe that it ``extends``, and changed by overrides.
``document.py`` is the YAML itself. ``spec.py`` makes a model of options from the signature of a constructor, so that
an objective's arguments are its options in a recipe. What the sections of pre-training mean stands in
``isoglot.pretraining.recipe``.
"""
