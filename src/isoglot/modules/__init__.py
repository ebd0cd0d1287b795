"""Building blocks that know tensors and encoders, and nothing of corpora, recipes or tasks.

Open ``encodings.py`` first: the encoder's outputs for a batch, each forward pass run once, when it is first read.

- Encoders: ``checkpoint.py`` loads every model, ``load.py`` one with a masked-LM head; ``encoder.py`` runs any of
  them, ``encoder_half.py`` takes the encoder of an encoder-decoder, ``packed_encoder.py`` runs a packed file.
- Word links: ``extraction.py``, ``sinkhorn.py``, ``self_labelling.py``, ``pointer.py``, ``text_path.py``.
- Losses and their parts: ``contrast.py``, ``momentum.py``, ``vocabulary_loss.py``, ``shared_table.py``.
- Nearest neighbours: ``neighbours.py`` on one machine, ``large_search.py`` beyond it.
- Order in the process: ``isolation.py`` leaves a caller's settings alone, ``finite.py`` refuses NaN, ``devices.py``
  reads names of devices, ``allocator.py`` keeps the memory of long runs small.
"""
