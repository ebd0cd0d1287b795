"""Pre-training and the verbs around encoders: a recipe goes in, a folder with a checkpoint comes out.

    recipe.yaml ─> check.py ─> streams.py ─> build.py ─> isoglot.training ─> OUT/checkpoint
                  (mistakes)   (corpora)     (objects)

Open ``pretrain.py`` first: the order of all steps of one run. ``api.py`` is the function that users call; it makes a
run for each seed and each combination of a sweep. ``recipe.py`` has the typed sections of a recipe, ``check.py`` and
``check_train.py`` list its mistakes. The other verbs have a file each: ``inspect.py``, ``trim.py``, ``new_recipe.py``
(`isoglot init`) and ``sentence_export.py`` (`isoglot export`).
"""
