"""A small call of every verb, and the files that it reads, for the tests that spoil them."""

from __future__ import annotations

import json
from pathlib import Path

from isoglot.testing import tiny_aligned, tiny_lexicon, tiny_model, tiny_tokenizer

RECIPE = """\
name: bad
model: {path: MODEL}
streams:
  bitext: {kind: bitext, path: FOLDER/a.tsv, source_language: en, target_language: xx}
views:
  pair: {type: masked_pair, stream: bitext, probability: 0.3, max_length: 64}
objectives:
  masked_lm: {type: masked_lm, view: pair}
batch: {examples: 4}
steps: 2
train: {learning_rate: 1e-3, save_steps: 2, use_cpu: true}
"""
MODELS = {
    "align": "align FOLDER/pairs.txt --model MODEL --method itermax -o OUT/links --precision float32",
    "retrieval": "evaluate MODEL --task tatoeba --languages xx --data FOLDER/tatoeba",
    "lexicon": "evaluate MODEL --task lexicon_induction --languages en-xx --data FOLDER/en-xx.txt --set words=0:0 "
    "--set layer=-1",
    "static": "evaluate MODEL --task lexicon_induction --languages en-xx --data FOLDER/en-xx.txt --set words=0:0 "
    "--set layer=static",
    "word alignment": "evaluate MODEL --task word_alignment --languages en-xx --data FOLDER/gold.jsonl",
    "finetune": "finetune MODEL --task pos --data FOLDER/{language}.tsv --data dev=FOLDER/{language}.tsv --out OUT/run "
    "--epochs 1 --set batch_size=4",
    "transfer": "transfer MODEL --task pos --languages en,xx --split test --data FOLDER/{language}.tsv --out OUT/run",
    "layers": "analyse layers MODEL --gold FOLDER/gold.jsonl --out OUT/run",
    "similarity": "analyse similarity MODEL -c FOLDER/pairs.txt --measure cka --out OUT/run",
    "geometry": "analyse geometry MODEL -c FOLDER/pairs.txt --measure anisotropy --out OUT/run",
    "map": "analyse map MODEL -c FOLDER/aligned.src-tgt --source-lang en --count 5 -m pca --layer 2 --out OUT/run",
    "alignments": "analyse alignments MODEL --gold FOLDER/gold.jsonl --limit 3 --out OUT/run",
    "alignment score": "analyse alignment MODEL --lexicon FOLDER/en-xx.txt --source-lang en --target-lang xx --out OUT",
    "pretrain": "pretrain FOLDER/recipe.yaml --out OUT/run",
}
TOKENIZERS = {
    "prepare": "prepare FOLDER/a.tsv --source-lang en --target-lang xx --tokenizer MODEL --min-pieces 1 --out OUT/c",
    "derive": "derive FOLDER/en.txt --lang en --transform trans --tokenizer MODEL --out OUT/run",
}
FILES = {
    "prepare tsv": "prepare FOLDER/a.tsv --source-lang en --target-lang xx --out OUT/c --processes 1",
    "prepare two files": "prepare FOLDER/tatoeba/a.en FOLDER/tatoeba/a.xx --source-lang en --target-lang xx -o OUT/c",
    "prepare aligned": "prepare FOLDER/aligned.src-tgt --kind aligned --source-lang en --target-lang xx --out OUT/c",
    "prepare lexicon": "prepare FOLDER/en-xx.txt --kind lexicon --source-lang en --target-lang xx --out OUT/c",
    "prepare text": "prepare FOLDER/en.txt --kind text --lang en --held-out FOLDER/held.txt --out OUT/c",
    "prepare treebank": "prepare FOLDER/en.conllu --kind treebank --lang en --out OUT/c",
    "prepare jsonl": "prepare FOLDER/pairs.jsonl --source-lang en --target-lang xx --out OUT/c",
    "align statistics": "align FOLDER/pairs.txt -m fast_align -o OUT/links",
    "align hmm": "align FOLDER/a.tsv --method hmm --train-on FOLDER/pairs.txt -o OUT/links",
    "score": "score FOLDER/links.txt --gold FOLDER/gold.txt",
    "score jsonl": "score FOLDER/links.txt --gold FOLDER/gold.jsonl --gold-format jsonl",
    "derive text": "derive FOLDER/en.txt --lang en --transform trans+inv --out OUT/d",
    "derive treebank": "derive FOLDER/en.conllu --lang en --transform inv --out OUT/d",
    "derive tags": "derive FOLDER/ner.txt --kind tagged --lang en --transform trans --out OUT/d",
    "derive questions": "derive FOLDER/qa.json --lang en --transform trans --out OUT/d",
    "derive inference": "derive FOLDER/nli.tsv --kind nli --lang en --transform trans --out OUT/d",
    "fit-order": "fit-order FOLDER/en.conllu --lang en --iterations 2 --out OUT/m",
    "world": "world --text 20 --pos 0 --ner 0 --nli 0 --paws 0 --qa 0 --dev 2 --test 2 --out OUT/w",
    "report": "report FOLDER/results.jsonl --out OUT/page.html",
    "recipes": "recipes tlm",
    "inspect": "inspect FOLDER/recipe.yaml --count 1",
    "check": "pretrain FOLDER/recipe.yaml --check",
    "study": "study align_mlm --list",
}
"""Calls that load no weights."""


def write_data(folder: Path) -> Path:
    """Write what the calls read."""
    rows = list(tiny_aligned(8))
    gold = [{"src": r["source_words"], "tgt": r["target_words"], "sure": r["links"]} for r in rows]
    (folder / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in gold))
    (folder / "pairs.txt").write_text("".join(f"{r['source']} ||| {r['target']}\n" for r in rows))
    (folder / "en.txt").write_text("".join(f"{r['source']}\n" for r in rows))
    (folder / "a.tsv").write_text("".join(f"{r['source']}\t{r['target']}\n" for r in rows))
    aligned = [
        f"{' '.join(r['source_words'])} ||| {' '.join(r['target_words'])} ||| "
        f"{' '.join(f'{i}-{j}' for i, j in r['links'])}\n"
        for r in rows
    ]
    (folder / "aligned.src-tgt").write_text("".join(aligned))
    for code, side in (("en", "source"), ("xx", "target")):
        tagged = ["".join(f"{word}\tNOUN\n" for word in r[f"{side}_words"]) for r in rows]
        (folder / f"{code}.tsv").write_text("\n".join(tagged))
        (folder / "tatoeba").mkdir(exist_ok=True)
        (folder / "tatoeba" / f"a.{code}").write_text("".join(f"{r[side]}\n" for r in rows))
    lexicon = [f"{row['source']} {row['target']}\n" for row in tiny_lexicon() if " " not in row["target"]]
    (folder / "en-xx.txt").write_text("".join(lexicon))
    links = [" ".join(f"{i}-{j}" for i, j in row["links"]) for row in rows]
    for name in ("links.txt", "gold.txt"):
        (folder / name).write_text("".join(f"{line}\n" for line in links))
    (folder / "held.txt").write_text("a sentence that is nowhere\n")
    pairs = [{"source": row["source"], "target": row["target"]} for row in rows]
    (folder / "pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    (folder / "en.conllu").write_text(TREE * 8)
    (folder / "ner.txt").write_text("en:Anna\tB-PER\nen:sings\tO\n")
    (folder / "nli.tsv").write_text("sentence1\tsentence2\tgold_label\na dog\tan animal\tentailment\n")
    question = {"id": "1", "question": "Where?", "answers": [{"text": "Ulm", "answer_start": 14}]}
    paragraph = {"context": "Anna lives in Ulm.", "qas": [question]}
    (folder / "qa.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    result = {"run": "a", "task": "pos", "language": "de", "metric": "accuracy", "value": 0.5, "examples": 3}
    (folder / "results.jsonl").write_text(f"{json.dumps(result)}\n")
    return folder


TREE = """\
1\tOld\told\tADJ\t_\t_\t2\tamod\t_\t_
2\tbirds\tbird\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\tsing\tsing\tVERB\t_\t_\t0\troot\t_\t_

"""


def write_model(folder: Path) -> Path:
    """Write a tiny encoder with its tokenizer."""
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def command(line: str, data: Path, model: Path, out: Path) -> list[str]:
    """A call with its places filled in; the recipe is written beside its data."""
    (data / "recipe.yaml").write_text(RECIPE.replace("MODEL", str(model)).replace("FOLDER", str(data)))
    places = {"MODEL": model, "FOLDER": data, "OUT": out}
    words = f"{line} --out OUT/r.jsonl".split() if line.startswith("evaluate") else line.split()
    for name, place in places.items():
        words = [word.replace(name, str(place)) for word in words]
    return words
