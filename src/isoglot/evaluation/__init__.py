"""Evaluation: a checkpoint, a task and languages in; scores, predictions and confusions out.

    isoglot.evaluate   api.py          model and task as objects or names, one checkpoint or many
                       evaluate.py     `evaluate_checkpoint`, one checkpoint on one task: what is measured already, what
                                       is missing, measure it
                       head.py         a fine-tuned model: rows -> logits -> predictions -> scores
                       journal.py      write rows and predictions, and recognise them in a later call
    isoglot.predict    predict.py      labels or answers for rows without labels
    isoglot.confusion  confusion.py    which label was predicted for which; `Confusion`, the counts and their file
                                       (old files must stay readable), is in `isoglot.results.confusion`

Open `evaluate.py` first. An encoder without a head is measured by its task (`Probe` in `isoglot.tasks.base`).

- *row*: of results in `evaluate.py` and `journal.py`, of the user's data in `predict.py` and `confusion.py`. An
  *encoded row* is one input of the encoder, as in `isoglot.tasks`.
- *example*: a row of a task's data.
- *card*: what a checkpoint was made from (`isoglot.tasks.cards`); the argument `about`.
- *journal*: a hidden file beside results or predictions that lists the finished evaluations.
"""
