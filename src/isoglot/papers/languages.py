"""Shared by the studies of continued pre-training: data in six languages, and an encoder to start from.

tiny: the miniature world plays English, derived copies of it play German, Spanish, French, Hindi and Chinese. small:
real text, bitext and test sets in these languages. The start is trained here by masked language modelling on sentences
of all six, each alone: it has seen every language and no translation. paper: checkpoints and corpora from outside.
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
"""The papers' names of metrics to ours, where they differ."""

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
_COPIES: dict[str, tuple[str, dict[str, Any]]] = {
    "es": ("trans", {"alphabet": "georgian"}),  # other letters
    "de": ("trans+inv", {"alphabet": "armenian"}),
    "fr": ("inv", {"alphabet": "armenian"}),  # no letters change
    "zh": ("trans+perm", {"alphabet": "cherokee", "keep_final": True}),  # no order at all
    "hi": ("trans+syn", {"alphabet": "deseret", **_HEADS_LAST}),
}
_WORLD = {"xnli": "nli", "pawsx": "paws", "xquad": "qa", "mlqa": "qa", "tydiqa": "qa"}
"""Tasks whose data have another name in the miniature world."""
_ENDS = {
    "pos": ".{split}.conllu", "ner": "/{split}", "nli": ".{split}.tsv", "paws": ".{split}.tsv", "qa": ".{split}.json",
}  # fmt: skip
_NLI = [
    *(f"train={DATA}/nli/{name}.{{language}}.dev.csv#0:90%" for name in ("mnli", "snli")),
    *(f"test={DATA}/nli/{name}.{{language}}.dev.csv#90:100%" for name in ("mnli", "snli")),
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
    """A task's data: the world and some of its copies, real files, or a folder as `isoglot evaluate` reads it.

    At scale paper ``${ISOGLOT_CORPORA}/pos`` holds what Universal Dependencies or XTREME publish, or files with the
    miniature world's names (`pos/de.test.conllu`).
    """
    if lab.scale == "small":
        return real_data(kind)
    if lab.scale == "paper":
        return [f"{CORPORA}/{'nli' if kind == 'xnli' else kind}"]
    original, derived = files_of(kind)
    return [english(lab) / original, *(world(lab, code) / f"{{language}}/{derived}" for code in copies)]


def files_of(kind: str) -> tuple[str, str]:
    """A task's files in the miniature world, and in a derived copy of it."""
    name = _WORLD.get(kind, kind)
    derived = f"{name}.{{split}}/derived.{'conllu' if name == 'pos' else 'jsonl'}"
    return f"{name}/{{language}}{_ENDS[name]}", derived


def inputs_of(folder: str | Work, names: Sequence[str], *, trees: bool) -> dict[str, dict[str, Any]]:
    """English task data (``nli.train``) in files as the miniature world has them, as inputs of Derive."""
    inputs: dict[str, dict[str, Any]] = {}
    for name in names:
        kind, _, split = name.partition(".")
        inputs[name] = {"path": f"{folder}/{kind}/en{_ENDS[kind].format(split=split)}"}
        if kind != "pos":
            inputs[name]["kind"] = "tagged" if kind == "ner" else kind
            inputs[name] |= {"parses": f"{folder}/trees/{name}.conllu"} if trees else {}
    return inputs


def real_data(kind: str) -> list[str]:
    """A task's real data."""
    return list(_REAL.get(kind, [f"train={_XQUAD}#0:80%", f"test={_XQUAD}#80:100%"]))


def tuning(lab: Lab, group: str, **more: Any) -> dict[str, Any]:
    """Settings of fine-tuning from the sizes of a group of tasks, and more."""
    sizes = {"epochs": lab.size[f"{group}_epochs"], "learning_rate": lab.size[f"{group}_rate"]}
    return {**sizes, "bucket": lab.size["bucket"], **more}


def world(lab: Lab, language: str) -> Work:
    """The copy of the miniature world that plays a language."""
    original, (transform, options) = english(lab), _COPIES[language]
    names = ("pos.test", "ner.test", "nli.train", "nli.test", "paws.test", "qa.train", "qa.test")
    inputs: dict[str, Any] = {"text": {"path": original / "trees/text.train.conllu"}}
    inputs |= inputs_of(original, names, trees=transform.endswith("syn"))
    how = {"transform": transform, "language": language, "options": options}
    return lab.make(f"derived {language}", Derive, inputs=inputs, **how)


def english(lab: Lab) -> Work:
    """The miniature world."""
    kinds = {kind: lab.size[kind] for kind in ("text", "pos", "ner", "nli", "paws", "qa", "dev", "test")}
    return lab.make("english", MakeWorld, options={"seed": 1, "size": 400, **kinds})


def aligned(lab: Lab, language: str) -> str:
    """Bitext with word links: by construction (tiny), by HMM (small), or by FastAlign as in the papers."""
    if lab.scale == "tiny":
        return world(lab, language) / f"{language}/text/aligned"
    source: dict[str, Any] = {"source_language": "en", "target_language": language}
    if lab.scale == "small":
        path, method = f"{DATA}/parallel/en-{language}.tsv.gz", "hmm"
        source["columns"] = {"source": 0, "target": 1}
    else:
        corpus, method = "xu2019" if language == "zh" else "europarl", "fast_align"
        path = f"{CORPORA}/{corpus}.en-{language}.tsv"
    # the intersection: Cao et al. 2020, §3; not given for WEAM
    how = {"method": method, "symmetrisation": "intersect"}
    return lab.make(f"aligned {language}", Align, path=path, source=source, **how) / "aligned"


def gold_links(lab: Lab, spoken: Sequence[str]) -> Work:
    """Gold links of the miniature world, a file for English and each language: ``en-de.jsonl``."""
    corpora = {f"en-{code}": world(lab, code) / f"{code}/pos.test/aligned" for code in spoken}
    return lab.make("gold", WriteGold, corpora=corpora)


def bitext(lab: Lab, language: str) -> dict[str, Any]:
    """Bitext of English and a language as a recipe's source, tiny and small."""
    if lab.scale == "tiny":
        text = world(lab, language) / f"{language}/text"
        sides = {"path": f"{text}/original.txt", "target_path": f"{text}/derived.txt"}
        return {**sides, "target_language": language}
    path, columns = f"{DATA}/parallel/en-{language}.tsv.gz", {"source": 0, "target": 1}
    return {"path": path, "columns": columns, "target_language": language}


def side(lab: Lab, pair: str, language: str) -> dict[str, Any]:
    """One side of a bitext as a recipe's source of text, tiny and small."""
    if lab.scale == "tiny":
        name = "original" if language == "en" else "derived"
        return {"path": world(lab, pair) / f"{pair}/text/{name}.txt", "language": language}
    path = f"{DATA}/parallel/en-{pair}.tsv.gz"
    return {"path": path, "columns": {"text": 0 if language == "en" else 1}, "language": language}


def start(lab: Lab, checkpoint: str, *, label: str = "base") -> Work | External:
    """The encoder that every system continues from: the paper's, or one trained here, the same for all seeds.

    ``label`` is what results call it.
    """
    if lab.scale == "paper":
        return External(label, f"{CHECKPOINTS}/{checkpoint}")
    shape: dict[str, Any] = {"tokenizer": {"vocab_size": 24000}}
    sources = [side(lab, code, name) for code in ("de", "es", "fr", "hi", "zh") for name in ("en", code)]
    view = {"probability": lab.size["base_masking"]}
    if lab.scale == "tiny":
        shape = {
            "model": {"hidden_size": 128, "intermediate_size": 512, "initializer_range": 0.05},
            "tokenizer": {"vocab_size": 6000},
            "batch": {"tokens": 1024},
            "train": {"bf16": None, "save_steps": lab.size["save_steps"]},
        }
        sources = [side(lab, "es", "en"), *(side(lab, code, code) for code in ("es", "de", "fr", "hi", "zh"))]
        view["max_length"] = 64
    sections = {
        **shape,
        "streams": {"text": {"held_out_flags": None, "sources": sources}},
        "views": {"text": view},
        "steps": lab.size["base_steps"],
    }
    return lab.pretrain("base", "small/mlm_four", sections, seed=1, run=label)


def external(lab: Lab, name: str, folder: str, module: str = "") -> External:
    """Another paper's checkpoint, which is there at scale paper."""
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
    """An encoder continued by a recipe."""
    return lab.pretrain(name or run, recipe, _continuing(lab, encoder, sections), seed=seed, run=run)


def counted(
    lab: Lab, name: str, recipe: str, encoder: Work | External, sections: dict[str, Any]
) -> Callable[[str], float]:
    """A function of a stream, language and name, as :class:`CountStreams` has them, of what :func:`continued` reads."""
    work = lab.make(
        f"{name} streams", CountStreams, recipe=recipe, sections=_continuing(lab, encoder, sections)
    )
    return work.value


def _continuing(lab: Lab, encoder: Work | External, sections: dict[str, Any]) -> dict[str, Any]:
    """A recipe's sections that continue an encoder."""
    saving = {} if lab.scale == "paper" else {"save_steps": lab.size["save_steps"]}
    model, train = {"path": lab.checkpoint(encoder)}, {**sections["train"], **saving}
    return {"model": model, **sections, "train": train}


def cao2020(lab: Lab, checkpoint: str, spoken: Sequence[str], seed: int) -> Work:
    """Word-aligned BERT (Cao et al. 2020): one model of its languages."""
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
    """An encoder fine-tuned on English and evaluated in English and all languages of the task."""
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
    """Every cell of a paper's table but its averages, which the report computes.

    ``measure`` gives the number of a row and column for a seed; one that depends on no seed counts once. ``is_result``:
    Whether the numbers belong to the results of systems, as sizes of corpora do not.
    """
    paper = paper_table(table)
    for row in paper.rows:
        labels = [
            row.label,
            *(str(row.attributes[k]) for k in ("setting", "pairs", "system", "group") if k in row.attributes),
        ]
        for column in (c for c in paper.columns if not c.average):
            for seed in seeds or lab.seeds:
                value = partial(measure, row, column, seed)
                about: dict[str, Any] = {"note": note, "is_result": is_result}
                lab.cell(table, row=labels, column=column.id, value=value, seed=seed, **about)
