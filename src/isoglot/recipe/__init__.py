"""Recipes as YAML: read strictly, with the line of every value, and every mistake listed before any work starts.

    file or name ─> source.py (extends, --set) ─> document.py (values and their lines) ─> sections.py (typed sections)

Open ``source.py`` first: a recipe is found, laid over the recipe that it ``extends``, and changed by overrides.
``document.py`` is the YAML itself. ``spec.py`` makes a model of options from the signature of a constructor, so that
an objective's arguments are its options in a recipe. What the sections of pre-training mean stands in
``isoglot.pretraining.recipe``; the settings of ``train`` are checked in ``isoglot.pretraining.check_train``.

A document records mistakes alone, and each of them ends the run. No check warns so far. A first warning belongs in
``_load`` of ``isoglot.pretraining.check``, behind the line that raises the mistakes. It is a ``Problem`` as well:
``str(problem)`` is its text with the flags spelled. A sweep loads its recipe several times, so log each text only once.

The words of this room:

- *location*: the keys that lead to a value, ``("streams", "bitext", "path")``; a number stands for a place in a list.
- *origin*: the file and the line in which a value stands.
- *raw*: said of a text in which environment variables are not replaced yet.
- *override*: ``section.key=value``, as ``--set`` gives it.
- *section*: a mapping of the recipe, checked by a model. An *entry* is a section under a name that the user chose.
- *maker*: a constructor or function that an entry names by its ``type``. Its *spec* is the model of its options.
- *supplied*: said of the arguments that isoglot itself passes to a maker, such as the tokenizer.
"""
