"""Building blocks that know tensors and encoders, and nothing of corpora, recipes or tasks.

    checkpoint ──checkpoint.py, load.py──> model ──encoder.py──> hidden states of some layers ──> vectors, links, losses

Read ``encodings.py`` first: the encoder's outputs for a batch, computed when they are first read.

- Encoders: ``checkpoint.py`` loads every model, ``load.py`` one with a masked-LM head, which ``masked_lm_head.py``
  takes apart. ``encoder.py`` runs any of them, with ``hooks.py``; ``document_mask.py`` keeps packed sequences apart.
  ``encoder_half.py`` takes the encoder of an encoder-decoder, ``packed_encoder.py`` runs a packed file, ``adapter.py``
  has the adapters of peft, ``model_folder.py`` saves a model object for functions that read folders.
- Word links: ``extraction.py``, ``sinkhorn.py``, ``self_labelling.py``, ``pointer.py``, ``text_path.py``.
- Vectors: ``pool`` in ``contrast.py`` makes one of each sentence, ``word_vectors.py`` one of each word
  of a padded batch. Analyses and aligners pool tables of pieces without padding instead: the mean of each word is taken
  in ``isoglot.aligners.embedding.piece_states``.
- Losses and their parts: ``contrast.py``, ``momentum.py``, ``vocabulary_loss.py``, ``shared_table.py``,
  ``hashed_noise.py``.
- Nearest neighbours: ``neighbours.py`` on one machine, ``large_search.py`` beyond it.
- Housekeeping of the process: ``isolation.py`` restores a caller's settings, ``finite.py`` refuses NaN,
  ``devices.py`` reads names of devices, ``allocator.py`` keeps the memory of long runs small.

Words of this room:

- *view*: one way to make encoder inputs from the examples of a corpus, such as masked or concatenated; a batch holds
  the tensors of each view by its name. *Side*: one of the two inputs of a view that has two.
- *base*: a model without its heads. *Head*: the layers behind the last hidden states; *transform*: the layers of a
  head in front of the vocabulary.
- *table*: the parameter with one row per vocabulary entry, usually the word embeddings and the output layer in one.
- *row*: of an input, one sequence of the batch; of a matrix of similarities, a token of the first sentence (usually the
  source).
- *packed*: of rows, several sequences in one; of a file or an encoder, weights of 4 or 8 bits.
- *plan*, π and ξ: a matrix of similarities after Sinkhorn's normalisations.
- *link*: a cell (i, j) of such a matrix that was chosen, or the two positions. *Forward links*: each row
  chooses a column; *backward links*: each column chooses a row. Elsewhere a *forward* is a pass through the encoder.
- *slot*: in ``shared_table.py`` an input for a gradient alone; elsewhere a place in a padded tensor.
"""
