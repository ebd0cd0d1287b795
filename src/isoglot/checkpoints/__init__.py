"""Find encoders, as folders, hub names or packed files, without torch and transformers.

Open ``folder.py`` first: it finds the folder of a checkpoint, of a run, or of the aligner that comes with isoglot
(``box``). ``packed.py`` writes an aligner as one small file of 4- and 8-bit weights; ``packed_file.py`` reads such a
file and checks every name, shape and text before anything is built from it. ``reading.py`` reports a damaged file in
one line. ``isoglot.modules.checkpoint`` loads the weights.

The words of this room:

- *checkpoint*: a folder with ``config.json``, ``model.safetensors`` and a tokenizer, or its name on the hub.
- *aligner*: an encoder with a *choice*, the layer and the method by which it aligns words (``aligner.json``).
- *lower* and *upper layers*: those up to the one that the aligner reads, and those above.
- *shape* of an encoder: the sizes from which the names and shapes of all its tensors follow.
- *text*: a named string in a packed file, such as its ``config.json``.
"""
