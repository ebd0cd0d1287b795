"""Training: streams, views and objectives go in, a trained encoder in complete checkpoints comes out.

    mixture.py ──────> batches.py ────────> collate.py ───────> model.py ───────────> trainer.py, saving.py
    examples by place  places by batch      padded views        one loss of a batch   steps and checkpoints

Open ``model.py`` first: how a batch of views becomes one loss. ``mixture.py`` says which example stands at which
position of a run, from the seed alone, so a resumed run replays nothing. ``parts.py`` gives parts of the model their
own learning rates, ``callbacks.py`` acts once a step, ``checkpoints.py`` writes checkpoints aside and chooses the one
to resume from, ``export.py`` writes the encoder for other programs.

Languages are not sampled here: their shares in a stream are chosen when it is prepared (``sampling_exponent``,
``isoglot.corpus.shards``).

The words of this room:

- *position*: a number from 0 on that counts through a run. At each position the mixture has an *example* of every
  stream, or with ``concatenate`` an example of one stream.
- *item* of the mixture: the examples at one position, as a dictionary by stream.
- *window*: a range of positions inside which examples are sorted by length; the option ``bucket`` is its size.
- *step*: one update of the weights, after one forward pass or several (*micro-batches*; ``accumulation`` is their
  number). Its *batches* are the micro-batches of all ranks.
- *items* of an objective: what its loss is a mean over: masked pieces, pairs, links. A *count* is a number of items.
- *plan*: the values on which the order of the batches depends (their *fingerprint*), saved with each checkpoint.
- *parts*: embeddings, encoder, head and objectives, each with a learning rate of its own.
- *gathered*: put together from the shards of all ranks.
"""
