"""Training: streams, views and objectives go in, a trained encoder in complete checkpoints comes out.

    mixture.py ──────> batches.py ────────> collate.py ───────> model.py ───────────> trainer.py, saving.py
    examples by place  places by batch      padded views        one loss of a batch   steps and checkpoints

Open ``model.py`` first: how a batch of views becomes one loss. ``mixture.py`` says which example stands at which
position of a run, from the seed alone, so a resumed run replays nothing. ``parts.py`` gives parts of the model their
own learning rates, ``callbacks.py`` acts once a step, ``export.py`` writes the encoder for other programs.

A *position* is a number of a mixture's example; a *step* is one update of the weights, of one forward pass or several.
"""
