"""Pre-training and the verbs around encoders: a recipe goes in, a folder with a checkpoint comes out.

    recipe.yaml ─> check.py ─> streams.py ─> build.py ─> isoglot.training ─> OUT/checkpoint
                  (mistakes)   (corpora)     (objects)

Open ``pretrain.py`` first: the order of all steps of one run. ``api.py`` is the function that users call; it makes a
run for each seed and each combination of a sweep. ``recipe.py`` and ``stream_section.py`` have the typed sections of a
recipe; ``check.py``, ``check_files.py`` and ``check_train.py`` list its mistakes. The other verbs have a file each:
``inspect.py``, ``trim.py`` (``isoglot.corpus.encode.trimming`` chooses the pieces), ``new_recipe.py`` (`isoglot init`)
and ``sentence_export.py`` (`isoglot export`).

What happens in a step is in other packages. An objective returns its loss and its metrics, such as the accuracy;
``isoglot.training`` takes their means, logs and shows them. What happens after each step and when training ends is in
``isoglot.training.callbacks``.

The words of this room:

- *stream*: a corpus under a name of the recipe; once encoded, its rows are *examples* of pieces.
- *view*: makes one input of the encoder from an example: masked text, or a source and a target side by side.
- *objective*: a loss over the encoded views.
- *section*, *option*: the recipe's ``views.pair`` is a section, and its ``probability`` an option.
- *held*: given in memory, as an object of Python, in place of a file.
- *filled in*: options that the recipe leaves out and the built view or objective chooses, such as ``max_length``.
"""
