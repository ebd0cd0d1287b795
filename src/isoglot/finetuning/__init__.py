"""Fine-tuning: a pre-trained checkpoint and a task go in, a checkpoint with a head comes out.

    checkpoint ─> TrainableTask.head ─┐
    task data ──> data.py ────────────┴─> train.py (transformers' Trainer) ─> selection.py ─> OUT/checkpoint

Open ``finetune.py`` first: one fine-tuning with its folder, from the checks to the last file. ``api.py`` is the
function that users call; it makes a run for each seed and each combination of a sweep. ``options.py`` has the
settings and chooses a paper's preset, whose values are in ``isoglot.tasks``. ``data.py`` joins languages, holds parts
out and code-switches, ``class_weights.py`` weighs rare classes, ``selection.py`` scores the checkpoints.

The words of this room:

- *run*: one fine-tuning with one seed, in one folder. A *sweep* makes several runs, reported one by one.
- *grid*: the combinations of settings with several values, within one run; the best is kept.
- *row*: a row of the data, one example; once it is encoded (``train.py``, ``selection.py``, and ``grouped`` and
  ``LengthOrder`` of ``data.py``), one input of the model. A long question has one row of the data, several encoded.
- *group*: encoded rows that share a batch: the code-switched copies of one original, else a single row. ``task.group``
  is something else: columns whose equal values stay together when data are divided.
- *item*: what the mean of a loss is over: a word with a label in tagging, a row in classification.
- *step*: one update of the weights, from one forward pass or, with ``gradient_accumulation``, from several.
- *selection*: the development score by which the checkpoint is kept.
- *card*: the file beside the weights that says what they were trained on.
"""
