"""A pre-trained encoder of your own: its word alignment and its transfer, before and after each system.

``ISOGLOT_ENCODER`` names any multilingual encoder, ``ISOGLOT_DATA`` the folder of real data. All systems continue the
same encoder on the same pairs for the same steps. Nothing is chosen on a test set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

from isoglot.papers import languages
from isoglot.papers.languages import DATA, world
from isoglot.studies import (
    Align,
    BestLinks,
    External,
    Lab,
    Prepare,
    ProjectLabels,
    StatisticalAlignment,
    StudyTask,
    TagPairs,
    UnavailableError,
    Work,
)

#        name: (tiny, small, paper), or one value for all scales
SIZES: dict[str, Any] = {
    "seeds": ([1], [1], [1, 2, 3]),
    "pairs": (None, 4_000, None),  # a language; all by default
    "steps": (300, 300, 3_000),
    "batch": (32, 16, 32),
    "length": (64, 128, 128),
    "learning_rate": (5e-4, 5e-5, 5e-5),
    "head_rate": (1.0, 10.0, 10.0),  # of what is new, as a multiple
    "head_steps": (30, 100, 300),  # in which what is new is trained alone
    "embeddings_rate": (1.0, 0.0, 0.0),  # 0: the word embeddings stay as they are
    "tag_epochs": (3, 1, 3),  # of fine-tuning
    "tag_rate": (5e-4, 5e-5, 5e-5),
    "pair_epochs": (5, 1, 3),
    "pair_rate": (3e-4, 3e-5, 3e-5),
    "question_epochs": (6, 2, 6),
    "question_rate": (5e-4, 5e-5, 5e-5),
    "tagged_pairs": (375, 800, 2_500),  # a language, for translate-train: in all as many as English sentences
    **languages.SIZES,
}
_TASKS = (
    "POS: EWT to PUD. NER: WikiANN. NLI: the development sets of MNLI and SNLI to XNLI. XQuAD: the first four "
    "fifths of its English articles to the last."
)
ABOUT = {
    "tiny": (
        "The miniature world, derived copies of it, and an encoder of 4 layers trained on all of them in place of "
        "yours. Word links by construction, but of projected labels by the HMM."
    ),
    "small": f"Your encoder, 4,000 pairs a language and few steps, to see that everything runs. {_TASKS}",
    "paper": f"Your encoder and all pairs but those of LASER's Tatoeba. Word links: HMM. {_TASKS}",
}
_LANGUAGES = ("de", "es", "fr", "hi", "ro", "zh")
_TEST = ("de-en", "en-fr", "ro-en", "en-hi")  # the four sets of XLM-Align's Table 2
_XLWA = ("en-es", "en-it", "en-nl")
_PARQUET = "corpus/data-*.parquet"
_REVERSED = ("de-en", "ro-en")
"""Gold links whose source is not English."""
_METHODS = ["argmax", "itermax", "softmax"]

_PAIR = {"type": "masked_pair", "stream": "bitext", "order": "shuffle", "probability": 0.15}
_SIDES = {
    side: {"type": "masked_text", "stream": "bitext", "side": side, "probability": 0.15}
    for side in ("source", "target")
}
_SENTENCES = {"type": "sentence_pair", "stream": "bitext"}
_TLM = {"masked_lm": {"type": "masked_lm", "view": "pair"}}
_MLM = {f"masked_lm_{side}": {"type": "masked_lm", "view": side, "weight": 0.5} for side in _SIDES}
_WEAM = {"word_exchange": {"type": "word_exchange", "view": "pair"}}
_POINTER = {"word_alignment": {"type": "denoising_word_alignment", "view": "pair"}}
_CONTRAST = {
    "contrast": {
        "type": "sentence_contrast",
        "view": "sentences",
        "projection_size": 128,
        "normalize_z": True,  # in a short run the literal form moves late
        "queue_size": 4_096,
        "momentum": 0.99,  # and the keys have to follow
        "mask_duplicates": "same_source_id",
    }
}
_IN_BATCH = {"contrast": {"type": "in_batch_contrast", "view": "sentences", "pooling": "mean"}}
_CAO = {
    "words": {"type": "contextual_alignment", "view": "sentences"},
    "anchor": {"type": "anchor", "view": "sentences"},
}
_LINKS = {
    "links": {
        "type": "self_training", "view": "sentences", "labels": "corpus", "compare": "cosine", "temperature": 0.05,
        "loss": "likelihood",
    }
}  # fmt: skip
_DICTIONARY = {"dictionary": {"type": "embedding_alignment", "lexicon": "words", "weight": 10.0}}

#   system: views, objectives
_SYSTEMS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "mlm": (_SIDES, _MLM),
    "tlm": ({"pair": _PAIR}, _TLM),
    "weam": ({"pair": _PAIR}, {**_TLM, **_WEAM}),
    "xlm_align": ({"pair": _PAIR, **_SIDES}, {**_MLM, **_TLM, **_POINTER}),
    "xlm_align_no_dwa": ({"pair": _PAIR, **_SIDES}, {**_MLM, **_TLM}),
    "xlm_align_no_tlm": ({"pair": _PAIR, **_SIDES}, {**_MLM, **_POINTER}),
    "ppa": ({"pair": _PAIR, "sentences": {**_SENTENCES, "order": "shuffle"}}, {**_TLM, **_CONTRAST}),
    "ppa_no_tlm": ({"sentences": {**_SENTENCES, "order": "shuffle"}}, _CONTRAST),
    "word_l2": ({"sentences": {**_SENTENCES, "order": "source_is_query"}}, _CAO),
    "align_mlm": (_SIDES, {**_MLM, **_DICTIONARY}),
    "self_training": ({"sentences": _SENTENCES}, _LINKS),
    "combined": ({"pair": _PAIR, "sentences": _SENTENCES}, {**_TLM, **_WEAM, **_LINKS}),
    "links_and_contrast": ({"sentences": _SENTENCES}, {**_LINKS, **_IN_BATCH}),
}
_ALIGNED = ("encoder", "mlm", "tlm", "weam", "xlm_align", "ppa", "word_l2", "self_training", "combined")
"""Systems whose word alignment is measured."""
_NOTHING_NEW = ("word_l2", "self_training", "links_and_contrast")
"""Systems without a layer of their own, which could not be trained beside a frozen encoder."""


def word_alignment(lab: Lab) -> None:
    """Alignment error rate; layer and method are chosen on the development links of other language pairs."""
    _, test = _gold_pairs(lab)

    def error(system: str, seed: int, column: str) -> float:
        """An encoder's error on a test set, or the error and layer that were chosen."""
        encoder, (dev, test) = _encoder(lab, system, seed), _gold(lab)
        fields = {"checkpoint": lab.checkpoint(encoder), "dev": dev, "test": test, "methods": _METHODS}
        links = lab.make(f"links of {encoder.name}", BestLinks, **fields, label=system)
        return links.value(column, row=("word_alignment", column, "aer"))

    for method in ("fast_align", "hmm"):
        for column in (*test, "dev"):
            value = partial(_statistical, lab, method, column)
            lab.cell("real/word_alignment", row=method, column=column, value=value, is_result=column != "dev")
    for system in _ALIGNED:
        for seed in lab.seeds if system != "encoder" else [None]:
            for column in (*test, "dev", "layer"):
                value = partial(error, system, seed or 1, column)
                labels: dict[str, Any] = {"row": system, "column": column, "seed": seed}
                lab.cell("real/word_alignment", **labels, value=value, is_result=column in test)


def transfer(lab: Lab) -> None:
    """Zero-shot transfer from English, retrieval and lexicon induction, of each system and its ablations."""

    def score(system: str, name: str, language: str, seed: int) -> float:
        if name == "lexicon" and system == "align_mlm":
            raise UnavailableError("the dictionary was trained on")
        encoder, task = _encoder(lab, system, seed), _task(lab, name)
        if name in ("retrieval", "lexicon"):
            return lab.evaluate(encoder, task).value(language)
        return languages.zero_shot(lab, encoder, task, seed).value(language)

    for system, seed, name in product(("encoder", *_SYSTEMS), lab.seeds, _TASK_LANGUAGES):
        for language in _languages_of(lab, name):
            value = partial(score, system, name, language, seed)
            lab.cell("real/transfer", row=system, column=(name, language), value=value, seed=seed)


def translate_train(lab: Lab) -> None:
    """Training on labels projected to translations, beside zero-shot transfer in as many steps."""
    rows = {"pos": ("zero-shot", "projected", "self-labelled"), "xquad": ("zero-shot", "projected", "gold")}

    def score(name: str, spoken: Sequence[str], row: str, language: str, seed: int) -> float:
        task = _task(lab, name)
        train = {**task.train, "precision": lab.at("float32", "bfloat16", "bfloat16")}
        task = replace(task, languages=spoken, train=train)
        data, trained_on, epochs = (_tagged if name == "pos" else _questions)(lab, task, row, seed)
        if data:
            task = replace(task, data=[*(spec for spec in task.data if not spec.startswith("train=")), *data])
        encoder = External(row, lab.checkpoint(_encoder(lab, "encoder", seed)))
        how: dict[str, Any] = {
            "setting": "zero_shot" if trained_on == "en" else "translate_train",
            "epochs": epochs,
        }
        if name == "xquad":
            how["batch_size"] = 8  # few questions
        scores = lab.evaluate(encoder, task, ["en", *spoken], trained_on=trained_on, seed=seed, **how)
        return scores.value(language)

    for seed, name in product(lab.seeds, rows):
        spoken = _spoken(lab) if lab.scale == "tiny" else _TRANSLATED[name]
        for row, language in product(rows[name], ("en", *spoken)):
            value = partial(score, name, spoken, row, language, seed)
            lab.cell("real/translate_train", row=row, column=(name, language), value=value, seed=seed)


_TRANSLATED = {"pos": ("de", "es", "fr", "hi", "zh"), "xquad": ("de", "es", "hi", "zh")}


def _tagged(lab: Lab, task: StudyTask, row: str, seed: int) -> tuple[list[str], str, float]:
    """Training data of a row, its languages, and epochs: English, and English with as many tagged translations.

    There is no translation of the English treebank, so its tagger tags the English side of bitext, and these tags are
    projected. The control learns from its tags of the translations themselves.
    """
    english = f"train={task.data[0]}" if lab.scale == "tiny" else task.data[0]
    english += lab.at("", "#0:32%", "")  # of EWT 4,014 sentences
    epochs = task.train["epochs"]
    if row == "zero-shot":
        return [english], "en", 2 * epochs
    rest = [spec for spec in task.data if not spec.startswith("train=")]
    encoder = External("zero-shot", lab.checkpoint(_encoder(lab, "encoder", seed)))
    how: dict[str, Any] = {"seed": seed, "setting": "zero_shot", "epochs": 2 * epochs}
    tagger = lab.finetune(encoder, replace(task, data=[*rest, english]), "en", **how)
    data = [english]
    for code in task.languages:
        drawn = {"corpus": _pairs(lab, code) / "corpus", "count": lab.size["tagged_pairs"], "seed": seed}
        model = {"checkpoint": tagger / "checkpoint", "task": task.kind, "precision": task.train["precision"]}
        tagged = lab.make(f"tagged {code} s{seed}", TagPairs, **model, **drawn, language=code)
        folder = tagged
        if row == "projected":
            folder = _projected(lab, tagged / "source.tsv", tagged / "target.txt", code, "pos")
        data.append(f"train={folder}/{{language}}.tsv")
    return data, ",".join(["en", *task.languages]), epochs


def _questions(lab: Lab, task: StudyTask, row: str, seed: int) -> tuple[list[str], str, float]:
    """The same for questions in English, and in translations with projected and with gold answers."""
    del seed
    epochs, spoken = task.train["epochs"], ",".join(task.languages)
    if row == "zero-shot":
        return [], "en", epochs
    data = []
    for code in task.languages if row == "projected" else ():
        labels, translation = f"{DATA}/xquad/xquad.en.json", f"{DATA}/xquad/xquad.{code}.json"
        if lab.scale == "tiny":
            labels = languages.english(lab) / "qa/en.train.json"
            translation = world(lab, code) / f"{code}/qa.train/derived.jsonl"
        folder = _projected(lab, labels, translation, code, "questions")
        data.append(f"train={folder}/{{language}}.jsonl{lab.at('', '#0:80%', '#0:80%')}")
    return data, spoken, epochs / len(task.languages)


def _projected(lab: Lab, labels: str, translation: str, language: str, kind: str) -> Work:
    """Labels carried to a translation by the packaged aligner, which knows no derived language: there by the HMM."""
    options = {"kind": kind, **lab.at({"method": "hmm"}, {}, {})}
    sides = {"labels": labels, "translation": translation, "language": language}
    return lab.make(f"projected {kind} {language}", ProjectLabels, **sides, options=options)


def _encoder(lab: Lab, system: str, seed: int) -> Work | External:
    """The encoder as it is, or continued by a system."""
    base = languages.start(lab, "") if lab.scale == "tiny" else External("encoder", "${ISOGLOT_ENCODER}")
    if system == "encoder":
        return base
    size, (views, objectives) = lab.size, _SYSTEMS[system]
    sources = [
        {"path": f"{_aligned(lab, code)}/data-*.parquet", "source_language": "en", "target_language": code}
        for code in _spoken(lab)
    ]
    streams: dict[str, Any] = {
        "bitext": {
            "sources": sources,
            "sampling_exponent": 0.5,  # a language with few pairs gets its share
            "encode": {"max_length": size["length"]},
        }
    }
    if system == "align_mlm":
        known = lab.at(("de", "es", "hi"), *[("de", "es", "fr", "hi", "zh")] * 2)  # with a dictionary
        words = [
            {
                "path": world(lab, code) / f"{code}/text/lexicon.txt"
                if lab.scale == "tiny"
                else f"{DATA}/lexicon/muse.en-{code}.txt",
                "target_language": code,
            }
            for code in known
        ]
        streams["words"] = {"kind": "lexicon", "source_language": "en", "sources": words}
    sections = {
        "model": {"path": lab.checkpoint(base), "new_head": True},
        "streams": streams,
        "views": {"pair": None}
        | {name: {**view, "max_length": size["length"]} for name, view in views.items()},
        "objectives": {"masked_lm": None, "word_exchange": None, **objectives},
        "parts": {
            "embeddings": 1.0 if system == "align_mlm" else size["embeddings_rate"],
            "head": size["head_rate"],
            "objectives": size["head_rate"],
            "freeze_encoder_steps": 0 if system in _NOTHING_NEW else size["head_steps"],
        },
        "batch": {"examples": size["batch"], "bucket": 50},
        "steps": size["steps"],
        "train": {"learning_rate": size["learning_rate"], "bf16": lab.scale != "tiny"},
    }
    return languages.continued(lab, system, "weam", base, sections, seed=seed)


def _spoken(lab: Lab) -> tuple[str, ...]:
    return ("de", "es", "fr", "hi") if lab.scale == "tiny" else _LANGUAGES


def _aligned(lab: Lab, language: str) -> str:
    """The pairs of a language with the HMM's intersected links; in the miniature world with those of construction."""
    if lab.scale == "tiny":
        return languages.aligned(lab, language)
    work = lab.make(
        f"aligned {language}",
        Align,
        path=_pairs(lab, language) / _PARQUET,
        source={"source_language": "en", "target_language": language},
        method="hmm",
        symmetrisation="intersect",
    )
    return work / "aligned"


def _pairs(lab: Lab, language: str) -> Work:
    if lab.scale == "tiny":
        source = {**languages.bitext(lab, language), "source_language": "en"}
        return lab.make(f"pairs {language}", Prepare, source=source, options={})
    source = {
        "path": f"{DATA}/parallel/en-{language}.tsv.gz",
        "columns": {"source": 0, "target": 1, "flags": 3},
        "source_language": "en",
        "target_language": language,
    }
    options = {
        "held_out_flags": ["laser_tatoeba"],  # retrieval is measured on it
        "duplicates": "pair",
        "max_length_ratio": None if language == "zh" else 3.0,  # of words, which Chinese does not separate
        "limit": lab.size["pairs"],
    }
    return lab.make(f"pairs {language}", Prepare, source=source, options=options)


def _gold_pairs(lab: Lab) -> tuple[list[str], list[str]]:
    """Pairs with gold links to choose by, and to measure on."""
    if lab.scale == "tiny":
        return ["en-de"], [f"en-{code}" for code in _spoken(lab) if code != "de"]
    return list(_XLWA), [*_TEST, *_XLWA]


def _gold(lab: Lab) -> tuple[dict[str, str], dict[str, str]]:
    """Gold links of these pairs."""
    dev, test = _gold_pairs(lab)
    if lab.scale == "tiny":
        gold = languages.gold_links(lab, _spoken(lab))
        return {p: gold / f"{p}.jsonl" for p in dev}, {p: gold / f"{p}.jsonl" for p in test}
    folder = f"{DATA}/wordalign"
    ends = {pair: ".xlwa.test.jsonl" if pair in _XLWA else ".jsonl" for pair in test}
    return {p: f"{folder}/{p}.xlwa.dev.jsonl" for p in dev}, {p: f"{folder}/{p}{ends[p]}" for p in test}


def _statistical(lab: Lab, method: str, column: str) -> float:
    """AER of a statistical aligner that learns from the gold sentences and all pairs of their languages."""
    dev, test = _gold(lab)
    gold = dev if column == "dev" else {column: test[column]}
    errors = []
    for pair, links in gold.items():
        language = next(code for code in pair.split("-") if code != "en")
        train, known = None, lab.scale != "tiny" and language in _LANGUAGES
        if known:
            path = _pairs(lab, language) / _PARQUET
            train = {"path": path, "source_language": "en", "target_language": language}
        fields = {"gold": links, "method": method, "train": train, "reverse": pair in _REVERSED and known}
        work = lab.make(f"{method} {pair}", StatisticalAlignment, **fields, label=method)
        errors.append(work.value("aer", row=("word_alignment", pair, "aer")))
    return fmean(errors)


_TASK_LANGUAGES = {
    "pos": ("de", "fr", "hi", "zh"),
    "ner": ("de", "es", "fr"),
    "nli": ("de", "es"),
    "xquad": ("de", "es", "hi", "zh"),
    "retrieval": ("de", "es", "fr", "hi", "zh"),
    "lexicon": ("en-de", "en-es", "en-fr", "en-hi", "en-zh"),
}


def _languages_of(lab: Lab, name: str) -> Sequence[str]:
    return _spoken(lab) if lab.scale == "tiny" and name not in _MEASURED_AS_IS else _TASK_LANGUAGES[name]


def _task(lab: Lab, name: str) -> StudyTask:
    spoken = _languages_of(lab, name)
    if name in _MEASURED_AS_IS:
        absent = "not in the miniature world" if lab.scale == "tiny" else ""
        kind, path = _MEASURED_AS_IS[name]
        return StudyTask(kind, [f"{DATA}/{path}"], spoken, options={"layer": 8}, unavailable=absent)
    kind, group = {"pos": ("pos", "tag"), "ner": ("ner", "tag"), "nli": ("xnli", "pair")}.get(
        name, ("xquad", "question")
    )
    data = languages.task_data(lab, kind, spoken) if lab.scale == "tiny" else languages.real_data(kind)
    return StudyTask(kind, data, spoken, train=languages.tuning(lab, group, warmup=0.1, select="last"))


_MEASURED_AS_IS = {
    "retrieval": ("tatoeba", "tatoeba"),
    "lexicon": ("lexicon_induction", "lexicon/muse.{language}.txt"),
}
"""Tasks without a head, and their data."""
