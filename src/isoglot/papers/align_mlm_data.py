"""ALIGN-MLM's data: English and its derived copies, text and tasks, at each scale."""

from typing import Any

from isoglot.papers.languages import CORPORA, DATA, files_of, inputs_of
from isoglot.studies import (
    CollectText,
    Derive,
    Lab,
    MakeWorld,
    StudyTask,
    TrainTokenizer,
    UnavailableError,
    Work,
)

LANGUAGE_IDS = (2, 3)
"""Language ids of English and of the derived language in the recipes xlm and dict_mlm, as in the authors' code.

There 1 is padding.
"""
_AUTHORS_REPAIR = {"trans": "none", "inv": "flip", "syn": "consistent"}
"""Last name of a transformation (``inv`` of ``trans+inv``) to what the authors' code does to entity tags.

Transliterated tags stay.
"""


def task_of(lab: Lab, task: str, order: str, overlap: float) -> StudyTask:
    """A task in English and the derived language; the development sets are reported, as by the authors' scripts."""
    if reason := absence_of(lab, task, order):
        raise UnavailableError(reason)
    size = lab.size
    copy = derived(lab, order, overlap)
    # Inference has sizes of its own: `tuning_rate_nli`.
    ending = "_nli" if task == "xnli" else ""
    train = {
        "precision": size["precision"],
        "learning_rate": size[f"tuning_rate{ending}"],
        "batch_size": size["tuning_batch"],
        "epochs": size[f"tuning_epochs{ending}"],
        "warmup": size["tuning_warmup"],
        "bucket": size["bucket"],
        "max_train_examples": size[f"tuning_examples{ending}"],
    }
    if lab.scale == "small":
        data = _small_data(task, copy)
    else:
        english = _world(lab) if lab.scale == "tiny" else CORPORA
        original_file, derived_file = files_of(task)
        data = [f"{english}/{original_file}", copy / f"{{language}}/{derived_file}"]
    spoken = [language_of(order)]
    return StudyTask(task, data, spoken, preset="align_mlm", train=train, split="dev")


def absence_of(lab: Lab, task: str, order: str) -> str:
    """Return the reason why a task is not measured in a derived language; empty if it is measured."""
    if lab.scale == "small" and order == "trans+syn" and task != "pos":
        return "the inference data have no trees" if task == "xnli" else "WikiANN has no trees"
    return ""


def _small_data(task: str, copy: Work) -> list[str]:
    """Return a task's data at scale small: real English files, and their derived copies."""
    folder = copy / "{language}"
    if task == "ner":
        return [f"{DATA}/wikiann/{{language}}/{{split}}", f"{folder}/ner.{{split}}/derived.jsonl"]
    if task == "pos":
        return [
            f"train={DATA}/ud/{{language}}_ewt-ud-train.conllu.gz",
            f"dev={DATA}/ud/{{language}}_ewt-ud-dev.conllu",
            f"train={folder}/pos.train/derived.conllu",
            f"dev={folder}/pos.dev/derived.conllu",
        ]
    files = [
        *(f"{DATA}/nli/{name}.{{language}}.dev.csv" for name in ("mnli", "snli")),
        *(f"{folder}/{name}/derived.jsonl" for name in ("mnli", "snli")),
    ]
    parts = {"train": "0:90%", "dev": "90:100%"}
    return [f"{split}={file}#{part}" for split, part in parts.items() for file in files]


def language_of(order: str) -> str:
    """Return the code of the derived language of an order: ``en-x-trans+inv``."""
    return f"en-x-{order}"


def _world(lab: Lab) -> Work:
    """Ask for the miniature world of this study, which has no paraphrases, questions and test data."""
    size = lab.size
    kinds = {kind: size[kind] for kind in ("text", "pos", "ner", "nli", "dev")}
    options = {"seed": size["world_seed"], "size": size["lexemes"], **kinds, "paws": 0, "qa": 0, "test": 0}
    return lab.make(
        "english", MakeWorld, options=options, about="English text and task data of a small world"
    )


def _text(lab: Lab) -> Work:
    """Ask for English text; scales small and paper."""
    if lab.scale == "paper":
        return lab.make("english", CollectText, sources=[{"path": f"{CORPORA}/wikitext103.txt"}])
    sources: list[dict[str, Any]] = [
        {"path": f"{DATA}/text/wikitext2.valid.txt"},
        {"path": f"{DATA}/text/wikitext2.test.txt"},
        {"path": f"{DATA}/parallel/en-de.tsv.gz", "columns": {"text": 0}},
        {"path": f"{DATA}/parallel/en-fr.tsv.gz", "columns": {"text": 0}},
        {"path": f"{DATA}/ud/en_ewt-ud-train.conllu.gz", "kind": "treebank"},
    ]
    return lab.make("english", CollectText, sources=sources, words="unicode", drop_headings=True, min_words=4)


def _inputs(lab: Lab, *, has_syntax: bool) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the file of English text that the tokenizer learns from, and the inputs of the derivation by name.

    The inputs are that text and the task data: ``{"text": {"path": "english/text.txt"}, "pos.train": ...}``.
    """
    kinds = ("pos", "nli") if lab.scale == "tiny" and not lab.size["ner"] else ("pos", "ner", "nli")
    names = [f"{kind}.{split}" for split in ("train", "dev") for kind in kinds]
    if lab.scale == "tiny":
        world = _world(lab)
        treebank = {"text": {"path": world / "trees/text.train.conllu"}}
        return world / "text/en.train.txt", treebank | inputs_of(world, names, trees=has_syntax)

    text = _text(lab) / "text.txt"
    plain: dict[str, Any] = {"path": text, "kind": "text", "rows": {"split": True}}
    if lab.scale == "small":  # with syntax the treebank takes the place of the text
        return text, {"text": plain} | _small_inputs(syntax=has_syntax)
    if has_syntax:
        plain["parses"] = f"{CORPORA}/trees/text.conllu"
    return text, {"text": plain} | inputs_of(CORPORA, names, trees=has_syntax)


def _order_models(lab: Lab) -> dict[str, Any]:
    """The word order of the derived language: heads last at scale tiny, else French (Galactic Dependencies)."""
    if lab.scale == "tiny":
        return {"syntax": "en~head-final@N~head-final@V", "models": "built-in"}
    folder = lab.at("", f"{DATA}/galactic", "${ISOGLOT_GALACTIC}")
    return {"syntax": "en~fr@N~fr@V", "models": folder, "rate": 0.05}  # the rate: not given


def derived(lab: Lab, order: str, overlap: float = 0.0) -> Work:
    """Ask for text and task data in the derived language.

    ``order`` names transformations, of which the last is applied first: ``trans+inv`` inverts, then transliterates.
    ``overlap`` is the share of the vocabulary that the derived language keeps from English.
    """
    size = lab.size
    has_syntax = order.endswith("syn")  # words are reordered by trees, so the text is read with its parses
    is_inverted = order.endswith("inv")
    text, inputs = _inputs(lab, has_syntax=has_syntax)

    # Options of the derivation as a whole.
    options: dict[str, Any] = {"overlap": overlap, "with_replacement": size["with_replacement"]}
    if size["script"] != "tangut":
        options["script"] = size["script"]
    if has_syntax:
        options |= {**_order_models(lab), "ud_labels": size["ud_labels"]}
    if is_inverted:
        options["end_marks"] = size["end_marks"]

    # Options of single inputs.
    for name, fields in inputs.items():
        if fields.get("parses"):
            fields["first_parse_only"] = size["first_parse_only"]
        if is_inverted and name != "text":
            fields["options"] = {"split": size["split_tasks"]}
            if size["literal_nli"] and fields.get("kind") == "nli":
                fields["options"]["literal"] = True

    # Repair of the labels of a row whose words have moved.
    repair = size["repair"]
    if repair == "authors":
        last_name = order.rpartition("+")[2]
        repair = _AUTHORS_REPAIR[last_name]
    rows = {"repair": repair}
    if has_syntax:
        rows["labels"] = size["labels"]

    shape = {"algorithm": size["algorithm"], "family": "roberta", "vocab_size": size["vocabulary"]}
    return lab.make(
        f"derived {order}",
        Derive,
        about=f"a copy of English by {order}",
        inputs=inputs,
        transform=order,
        tokenizer=lab.make("tokenizer", TrainTokenizer, text=[text], options=shape),
        language=language_of(order),
        options=options,
        rows=rows,
    )


def _small_inputs(*, syntax: bool) -> dict[str, dict[str, Any]]:
    """Return the inputs of the derivation at scale small; with syntax only those that have trees, and text too."""
    inputs: dict[str, dict[str, Any]] = {
        "pos.train": {"path": f"{DATA}/ud/en_ewt-ud-train.conllu.gz"},
        "pos.dev": {"path": f"{DATA}/ud/en_ewt-ud-dev.conllu"},
    }
    if syntax:
        return {"text": {"path": f"{DATA}/ud/en_ewt-ud-train.conllu.gz", "kind": "treebank"}, **inputs}
    return {
        **inputs,
        "ner.train": {"path": f"{DATA}/wikiann/en/train", "kind": "tagged"},
        "ner.dev": {"path": f"{DATA}/wikiann/en/dev", "kind": "tagged", "limit": 2000},
        "mnli": {"path": f"{DATA}/nli/mnli.en.dev.csv", "kind": "nli"},
        "snli": {"path": f"{DATA}/nli/snli.en.dev.csv", "kind": "nli"},
    }
