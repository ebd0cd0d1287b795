"""Where encoders are, as folders, hub names or packed files, without torch and transformers.

Open ``folder.py`` first: the folder of a checkpoint, of a run, or of the aligner that comes with isoglot (``box``).
``packed.py`` writes an aligner as one small file of 4- and 8-bit weights; ``packed_file.py`` reads such a file and
checks every name, shape and text before anything is built from it; ``stored_weights.py`` is how both store a weight.
``reading.py`` says what to do when a file is damaged. ``isoglot.modules.checkpoint`` loads the weights.

The folders ``checkpoint-N`` that a training writes to be resumed from are not handled here:
``isoglot.training.checkpoints`` finds them, and deletes all but the last ones.

- *choice*: the layer and method by which an encoder aligns words: ``aligner.json`` beside weights.
- *packed file*: NAME.safetensors; NAME.sentences.safetensors (upper layers) and NAME.aligner.json may be beside it.
- *upper layers*: the layers of the encoder above the one that the aligner reads; sentence vectors need them.
- *text*: a string by name in the metadata of a packed file. Most are small files of a checkpoint, such as
  ``config.json`` (``TEXTS``); ``continues`` is no file. The tokenizer is a text that is stored among the tensors, as
  compressed bytes.

A single file is hashed by ``isoglot.runs.fingerprint.fingerprint``; the weights, configuration and tokenizer of an
encoder together by ``isoglot.runs.folder.hash_checkpoint``.
"""
