"""Training: streams, views and objectives go in, a trained encoder in complete checkpoints comes out.

    mixture.py ──────> batches.py ────────> collate.py ───────> model.py ───────────> trainer.py, saving.py
    examples by place  places by batch      padded views        one loss of a batch   steps and checkpoints

Open ``model.py`` first: how a batch of views becomes one loss. ``mixture.py`` says which example stands at which
position of a run, from the seed alone, so a resumed run replays nothing. ``parts.py`` gives parts of the model their
own learning rates, ``callbacks.py`` acts once a step, ``checkpoints.py`` writes checkpoints aside and chooses the one
to resume from, ``export.py`` writes the encoder for other programs.

The words of this room:

- *position*: a number of the run; the mixture has one example of every stream there.
- *window*: a range of positions inside which examples are sorted by length.
- *step*: one update of the weights, after one forward pass or several (*micro-batches*, the *accumulation*).
  Its *batches* are those of all ranks and micro-batches.
- *items*: the things that an objective's loss is a mean of: masked pieces, pairs, links.
"""
