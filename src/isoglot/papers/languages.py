"""Data in six languages and an encoder to start from, which WEAM, PPA, XLM-Align and ``real.py`` share.

- Scale tiny: the miniature world plays English; derived copies of it play German, Spanish, French, Hindi and Chinese.
- Scale small: real text, bitext and test sets in these six languages.
- Scale paper: checkpoints and corpora from outside.

At tiny and small the encoder to start from is trained here by masked language modelling. It reads sentences of all six
languages one at a time, so it has seen every language and no translation.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from isoglot.studies import (
    Align,
    CountStreams,
    Derive,
    External,
    Lab,
    MakeWorld,
    PaperColumn,
    PaperRow,
    StudyTask,
    TaskScores,
    UnavailableError,
    Work,
    WriteGold,
    paper_table,
)

DATA, CORPORA, CHECKPOINTS = "${ISOGLOT_DATA}", "${ISOGLOT_CORPORA}", "${ISOGLOT_CHECKPOINTS}"
REAL_SMALL = (
    "XQuAD stands in for MLQA (no SQuAD here): the first four fifths of its articles to train on, the last to test. "
    "NLI is trained on MNLI's and SNLI's development sets; XNLI is there in German and Spanish, without translations "
    "of its training data."
)
METRICS = {"em": "exact_match", "acc": "accuracy"}
"""The papers' names of metrics, with ours where they differ."""

#        name: (tiny, small, paper), or one value for all scales
SIZES: dict[str, Any] = {
    "base_steps": (3_000, 8_000, None),  # of the encoder to start from
    "base_masking": (0.3, 0.2, None),
    "save_steps": (10_000, 10_000, None),
    "bucket": 50,  # of fine-tuning: batches in which examples are sorted by length; the papers' scripts: 1
    # of the miniature world
    "text": (6_000, None, None),
    "pos": (1_500, None, None),
    "ner": (1_500, None, None),
    "nli": (4_000, None, None),
    "paws": (3_000, None, None),
    "qa": (1_500, None, None),
    "dev": (400, None, None),
    "test": (400, None, None),
}
_HEADS_LAST = {"syntax": "en~head-final@N~head-final@V", "models": "built-in", "oversize": "keep"}
_TRANSFORMATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "es": ("trans", {"alphabet": "georgian"}),
    "de": ("trans+inv", {"alphabet": "armenian"}),
    # French keeps the English letters. The alphabet, which `inv` does not use, is part of the hash of existing steps.
    "fr": ("inv", {"alphabet": "armenian"}),
    "zh": ("trans+perm", {"alphabet": "cherokee", "keep_final": True}),
    "hi": ("trans+syn", {"alphabet": "deseret", **_HEADS_LAST}),
}
"""Languages that derived copies of the miniature world play, with the transformation and its options.

Spanish has other letters than English; German also has its words in reverse order, Chinese in random order, and Hindi
with each head after its dependents. French has English letters, and its words in reverse order.
"""
_WORLD_NAMES = {"xnli": "nli", "pawsx": "paws", "xquad": "qa", "mlqa": "qa", "tydiqa": "qa"}
"""Tasks whose data have another name in the miniature world. It has one set of questions, for all three tasks."""
_ENDINGS = {
    "pos": ".{split}.conllu",
    "ner": "/{split}",
    "nli": ".{split}.tsv",
    "paws": ".{split}.tsv",
    "qa": ".{split}.json",
}
"""Ends of the names of the miniature world's files, after the language: ``pos/en`` + ``.train.conllu``."""
_NLI = [
    f"train={DATA}/nli/mnli.{{language}}.dev.csv#0:90%",
    f"train={DATA}/nli/snli.{{language}}.dev.csv#0:90%",
    f"test={DATA}/nli/mnli.{{language}}.dev.csv#90:100%",
    f"test={DATA}/nli/snli.{{language}}.dev.csv#90:100%",
    f"test={DATA}/nli/xnli.{{language}}.test.*",
]
_XQUAD = f"{DATA}/xquad/xquad.{{language}}.json"
_REAL = {  # scale small
    "pos": [
        f"train={DATA}/ud/{{language}}_ewt-ud-train.conllu.gz",
        f"test={DATA}/ud/{{language}}_pud-ud-test.conllu",
    ],
    "ner": [f"{DATA}/wikiann/{{language}}/{{split}}", f"{DATA}/wikiann/{{language}}/{{split}}.conllu"],
    "xnli": _NLI,
}


def task_data(lab: Lab, kind: str, copies: Sequence[str] = ()) -> list[str]:
    """Return the data of a task at the study's scale.

    1. tiny: files of the miniature world, and of the ``copies`` of it that play these languages.
    2. small: real files.
    3. paper: a folder. ``${ISOGLOT_CORPORA}/pos`` holds the files that Universal Dependencies or XTREME publish, or
       files with the names of the miniature world's (``pos/de.test.conllu``).
    """
    if lab.scale == "small":
        return real_data(kind)
    if lab.scale == "paper":
        return [f"{CORPORA}/{'nli' if kind == 'xnli' else kind}"]
    original, derived = files_of(kind)
    return [
        english(lab) / original,
        *(copy_of_world(lab, code) / f"{{language}}/{derived}" for code in copies),
    ]


def files_of(kind: str) -> tuple[str, str]:
    """Return the names of a task's files in the miniature world and in a derived copy of it, as templates.

    ``files_of("pos")`` is ``("pos/{language}.{split}.conllu", "pos.{split}/derived.conllu")``.
    """
    name = _WORLD_NAMES.get(kind, kind)
    original = f"{name}/{{language}}{_ENDINGS[name]}"
    ending = "conllu" if name == "pos" else "jsonl"
    return original, f"{name}.{{split}}/derived.{ending}"


def inputs_of(folder: str | Work, names: Sequence[str], *, trees: bool) -> dict[str, dict[str, Any]]:
    """Return English task data as inputs of :class:`Derive`, by name: a task and a split, ``nli.train``.

    The files in ``folder`` are called as in the miniature world. ``trees``: Whether the derivation needs the parses of
    sentences. Files of parts of speech are treebanks, which have them; for other tasks they are in ``folder/trees``.
    """
    inputs: dict[str, dict[str, Any]] = {}
    for name in names:
        kind, _, split = name.partition(".")
        fields = {"path": f"{folder}/{kind}/en{_ENDINGS[kind].format(split=split)}"}
        if kind != "pos":
            fields["kind"] = "tagged" if kind == "ner" else kind
            if trees:
                fields["parses"] = f"{folder}/trees/{name}.conllu"
        inputs[name] = fields
    return inputs


def real_data(kind: str) -> list[str]:
    """Return a task's real data; those of XQuAD serve every task of questions."""
    return list(_REAL.get(kind, [f"train={_XQUAD}#0:80%", f"test={_XQUAD}#80:100%"]))


def tuning(lab: Lab, group: str, **more: Any) -> dict[str, Any]:
    """Return settings of fine-tuning: those of a group of tasks, such as ``tag_epochs``, and ``more``."""
    sizes = {"epochs": lab.size[f"{group}_epochs"], "learning_rate": lab.size[f"{group}_rate"]}
    return {**sizes, "bucket": lab.size["bucket"], **more}


def copy_of_world(lab: Lab, language: str) -> Work:
    """Ask for the copy of the miniature world that plays a language."""
    original = english(lab)
    transform, options = _TRANSFORMATIONS[language]
    names = ("pos.test", "ner.test", "nli.train", "nli.test", "paws.test", "qa.train", "qa.test")
    inputs: dict[str, Any] = {"text": {"path": original / "trees/text.train.conllu"}}
    inputs |= inputs_of(original, names, trees=transform.endswith("syn"))
    return lab.make(
        f"derived {language}", Derive, inputs=inputs, transform=transform, language=language, options=options
    )


def english(lab: Lab) -> Work:
    """Ask for the miniature world itself, which plays English."""
    kinds = {kind: lab.size[kind] for kind in ("text", "pos", "ner", "nli", "paws", "qa", "dev", "test")}
    return lab.make("english", MakeWorld, options={"seed": 1, "size": 400, **kinds})


def aligned(lab: Lab, language: str) -> str:
    """Ask for bitext of English and a language with word links, and return its folder.

    A stream of one language takes the folder as its ``path``. A prepared folder cannot be one of several ``sources``,
    so of several languages each source is a pattern of files, ``{folder}/data-*.parquet``, and names its languages.

    - tiny: the miniature world; its links are known by construction.
    - small: the public bitext, linked by the HMM.
    - paper: the corpora of WEAM and of Cao et al. 2020, Europarl and for Chinese Xu (2019), linked by FastAlign. The
      bitext of XLM-Align is another one, and has languages that these corpora lack.
    """
    if lab.scale == "tiny":
        return copy_of_world(lab, language) / f"{language}/text/aligned"
    source: dict[str, Any] = {"source_language": "en", "target_language": language}
    if lab.scale == "small":
        path = f"{DATA}/parallel/en-{language}.tsv.gz"
        method = "hmm"
        source["columns"] = {"source": 0, "target": 1}
    else:
        corpus = "xu2019" if language == "zh" else "europarl"
        path = f"{CORPORA}/{corpus}.en-{language}.tsv"
        method = "fast_align"
    # The intersection is that of Cao et al. 2020, §3; WEAM does not say.
    work = lab.make(
        f"aligned {language}", Align, path=path, source=source, method=method, symmetrisation="intersect"
    )
    return work / "aligned"


def gold_links(lab: Lab, spoken: Sequence[str]) -> Work:
    """Ask for gold links of the miniature world: a file for English and each language, ``en-de.jsonl``."""
    corpora = {f"en-{code}": copy_of_world(lab, code) / f"{code}/pos.test/aligned" for code in spoken}
    return lab.make("gold", WriteGold, corpora=corpora)


def bitext(lab: Lab, language: str) -> dict[str, Any]:
    """Return bitext of English and a language as a recipe's source; scales tiny and small."""
    if lab.scale == "tiny":
        text = copy_of_world(lab, language) / f"{language}/text"
        sides = {"path": f"{text}/original.txt", "target_path": f"{text}/derived.txt"}
        return {**sides, "target_language": language}
    path = f"{DATA}/parallel/en-{language}.tsv.gz"
    return {"path": path, "columns": {"source": 0, "target": 1}, "target_language": language}


def side(lab: Lab, translated: str, language: str) -> dict[str, Any]:
    """Return one side of a bitext as a recipe's source of text; scales tiny and small.

    ``side(lab, "de", "en")`` is the English side of English-German.

    ``translated``: The language of the bitext beside English. ``language``: That of the side, English or the other.
    """
    if lab.scale == "tiny":
        name = "original" if language == "en" else "derived"
        path = copy_of_world(lab, translated) / f"{translated}/text/{name}.txt"
        return {"path": path, "language": language}
    path = f"{DATA}/parallel/en-{translated}.tsv.gz"
    return {"path": path, "columns": {"text": 0 if language == "en" else 1}, "language": language}


def start(lab: Lab, checkpoint: str, *, label: str = "base") -> Work | External:
    """Ask for the encoder that every system continues: the paper's ``checkpoint``, or one trained here.

    It is the same one for all seeds. ``label``: The name of the encoder in results; not part of the run, so that calls
    with different labels share one encoder, trained once.
    """
    if lab.scale == "paper":
        return External(label, f"{CHECKPOINTS}/{checkpoint}")
    view = {"probability": lab.size["base_masking"]}
    changes: dict[str, Any]
    if lab.scale == "tiny":
        changes = {
            "model": {"hidden_size": 128, "intermediate_size": 512, "initializer_range": 0.05},
            "tokenizer": {"vocab_size": 6000},
            "batch": {"tokens": 1024},
            "train": {"bf16": None, "save_steps": lab.size["save_steps"]},
        }
        view["max_length"] = 64
        # All copies of the world have the same English side, so it is read once.
        sources = [side(lab, "es", "en"), *(side(lab, code, code) for code in ("es", "de", "fr", "hi", "zh"))]
    else:
        changes = {"tokenizer": {"vocab_size": 24000}}
        sources = []
        for code in ("de", "es", "fr", "hi", "zh"):
            sources += [side(lab, code, "en"), side(lab, code, code)]
    sections = {
        **changes,
        "streams": {"text": {"held_out_flags": None, "sources": sources}},
        "views": {"text": view},
        "steps": lab.size["base_steps"],
    }
    return lab.pretrain("base", "small/mlm_four", sections, seed=1, run=label)


def external(lab: Lab, name: str, folder: str, module: str = "") -> External:
    """Return another paper's checkpoint, which only scale paper has; ``module`` as in :meth:`Lab.external`."""
    if lab.scale != "paper":
        raise UnavailableError("another paper's checkpoint")
    return lab.external(name, f"{CHECKPOINTS}/{folder}", module=module)


def continued(
    lab: Lab,
    run: str,
    recipe: str,
    encoder: Work | External,
    sections: dict[str, Any],
    *,
    seed: int,
    name: str = "",
) -> Work:
    """Ask for an encoder that a recipe continues, with ``sections`` laid over the recipe.

    ``run`` is the name in results; the folder has the same one, unless ``name`` gives another.
    """
    return lab.pretrain(name or run, recipe, _continuing(lab, encoder, sections), seed=seed, run=run)


def counted(
    lab: Lab, name: str, recipe: str, encoder: Work | External, sections: dict[str, Any]
) -> Callable[[str], float]:
    """Count the streams that :func:`continued` would read; return the function that gives a count by its name.

    The names are those of :class:`CountStreams`: ``counted(...)("bitext/en-fr/kept")`` is the number of kept pairs.
    """
    work = lab.make(
        f"{name} streams", CountStreams, recipe=recipe, sections=_continuing(lab, encoder, sections)
    )
    return work.value


def _continuing(lab: Lab, encoder: Work | External, sections: dict[str, Any]) -> dict[str, Any]:
    """Return sections of a recipe with the encoder to continue; a ``model`` among the sections replaces it."""
    train = sections["train"]
    if lab.scale != "paper":
        train = {**train, "save_steps": lab.size["save_steps"]}
    return {"model": {"path": lab.checkpoint(encoder)}, **sections, "train": train}


def cao2020(lab: Lab, checkpoint: str, spoken: Sequence[str], seed: int) -> Work:
    """Ask for word-aligned BERT (Cao et al. 2020): one model of all the languages ``spoken``.

    The study's ``SIZES`` must have ``cao_pairs``, ``cao_batch`` and ``cao_rate``, which :data:`SIZES` has not;
    ``cao_epochs`` may replace the recipe's number of epochs.
    """
    size = lab.size
    sources = [{"path": f"{aligned(lab, code)}/data-*.parquet", "target_language": code} for code in spoken]
    sections = {
        "streams": {"bitext": {"limit": size["cao_pairs"], "sources": sources}},
        "batch": {"examples": size["cao_batch"]},
        "epochs": {"count": size["cao_epochs"]} if "cao_epochs" in size else {},
        "train": {"learning_rate": size["cao_rate"]},
    }
    return continued(lab, "cao2020", "cao2020", start(lab, checkpoint), sections, seed=seed)


def zero_shot(lab: Lab, encoder: Work | External, task: StudyTask, seed: int) -> TaskScores:
    """Ask for the scores of an encoder fine-tuned on English, in English and all languages of the task."""
    spoken = list(dict.fromkeys(["en", *task.languages]))
    return lab.evaluate(encoder, task, spoken, trained_on="en", seed=seed, setting="zero_shot")


def fill(
    lab: Lab,
    table: str,
    measure: Callable[[PaperRow, PaperColumn, int], float],
    *,
    note: str = "",
    seeds: Sequence[int] = (),
    is_result: bool = True,
) -> None:
    """Add every cell of a paper's table to the study, except its averages, which the report computes.

    The table's rows and columns are the paper's. A row or column of our own is added beside them, cell by cell:
    ``lab.cell(table, row="WEAM", column=column.id, value=..., added=True)`` is a cell of a new row,
    ``lab.cell(table, row=row_labels(row), column="tokens", value=..., added=True)`` one of a new column.

    Args:
        lab: Lab of the study.
        table: A table of a paper, ``weam:Table1``.
        measure: Gives the number of a row and column for a seed. A number that depends on no seed counts once.
        note: Anything that a reader of the table has to know.
        seeds: Seeds; by default those of the study.
        is_result: Whether the numbers are results of systems; sizes of corpora are not.
    """
    paper = paper_table(table)
    for row in paper.rows:
        for column in paper.columns:
            if column.average:
                continue
            for seed in seeds or lab.seeds:
                lab.cell(
                    table,
                    row=row_labels(row),
                    column=column.id,
                    value=partial(measure, row, column, seed),
                    seed=seed,
                    note=note,
                    is_result=is_result,
                )


def row_labels(row: PaperRow) -> list[str]:
    """Return the label of a row with the attributes that tell it from others, as :meth:`Lab.cell` takes a row.

    WEAM's Table 1 has two rows ``mBERT†``: ``["mBERT†", "zero-shot", "mbert"]`` is one of them.
    """
    names = [name for name in ("setting", "pairs", "system", "group") if name in row.attributes]
    return [row.label, *(str(row.attributes[name]) for name in names)]
