"""What an objective sees: the pieces of one pair, which are masked, and what is to be predicted.

python examples/look_at_training.py
"""

import os
import tempfile
from pathlib import Path

from isoglot import inspect_recipe, load_recipe
from isoglot.pretraining.inspect import table
from isoglot.testing import tiny_bitext

RECIPE = """\
name: look
model: {architecture: bert, hidden_size: 16, num_hidden_layers: 1, num_attention_heads: 1, intermediate_size: 16}
tokenizer: {algorithm: wordpiece, vocab_size: 200}
streams:
  bitext: {kind: bitext, path: BITEXT, source_language: en, target_language: xx}
views:
  pair: {type: masked_pair, stream: bitext, probability: 0.3, max_length: 64}
objectives:
  masked_lm: {type: masked_lm, view: pair}
batch: {examples: 8}
steps: 1
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    os.environ["ISOGLOT_CACHE"] = str(folder / "cache")
    (folder / "en-xx.tsv").write_text(
        "".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(64))
    )
    (folder / "look.yaml").write_text(RECIPE.replace("BITEXT", str(folder / "en-xx.tsv")))
    for instance in inspect_recipe(load_recipe(folder / "look.yaml"), positions=1):
        heading, rows = table(instance)
        for row in [heading, *rows]:
            print("".join(f"{cell:12}" for cell in row).rstrip())
