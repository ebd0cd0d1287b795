"""Clean a bitext and read it back as a data set: what was dropped, and why.

python examples/prepare_corpus.py
"""

import tempfile
from pathlib import Path

from isoglot import PrepareOptions, Source, load_corpus, prepare

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    lines = [
        "a house\tein Haus",
        "a house\tein Haus",
        "\tleer",
        "yes\t" + "sehr " * 30 + "lang",
        "a dog\tein Hund",
    ]
    (folder / "en-de.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = Source(path=str(folder / "en-de.tsv"), source_language="en", target_language="de")
    options = PrepareOptions(duplicates="pair", max_length_ratio=3.0)
    summary = prepare(source, folder / "corpus", options=options, processes=1)
    print({reason: count for reason, count in summary.removed.items() if count})
    for row in load_corpus(folder / "corpus"):
        print(row["source"], "|", row["target"])
