"""Continue an encoder on a bitext: a recipe for your files, checked, then trained.

The encoder and the bitext are made up here, so that it runs offline in seconds; use yours instead.

python examples/continue_an_encoder.py
"""

import os
import tempfile
from pathlib import Path

from isoglot import init, load_recipe, pretrain
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    os.environ["ISOGLOT_CACHE"] = str(folder / "cache")
    (folder / "en-xx.tsv").write_text(
        "".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(64))
    )
    tokenizer = tiny_tokenizer("bert")
    tokenizer.save_pretrained(folder / "encoder")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(folder / "encoder")

    recipe = folder / "recipe.yaml"
    init(folder / "en-xx.tsv", recipe, model=folder / "encoder", languages="en,xx")
    short = ["batch={examples: 8}", "steps=4", "train.use_cpu=true", "train.learning_rate=1e-3"]
    checkpoint = pretrain(load_recipe(recipe, short), folder / "run")
    print(sorted(path.name for path in Path(checkpoint).iterdir()))
