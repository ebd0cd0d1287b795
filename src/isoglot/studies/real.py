"""A pre-trained encoder of your own: its word alignment and its transfer, before and after each system.

``ISOGLOT_ENCODER`` names any multilingual encoder, ``ISOGLOT_DATA`` the folder of real data. All systems continue the
same encoder on the same pairs for the same steps. Nothing is chosen on a test set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from isoglot.studies import languages
from isoglot.studies.alignment_steps import BestLinks, StatisticalAlignment
from isoglot.studies.graph import NO_ROW, Call, Output, Value, mean
from isoglot.studies.lab import External, Lab, StudyTask, TaskScores, Unavailable
from isoglot.studies.languages import DATA, world
from isoglot.studies.projection_steps import ProjectLabels, TagPairs
from isoglot.studies.steps import Align, Prepare

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
        "type": "self_training",
        "view": "sentences",
        "labels": "corpus",
        "compare": "cosine",
        "temperature": 0.05,
        "loss": "likelihood",
    }
}
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
_NOTHING_NEW = ("word_l2", "self_training", "links_and_contrast")
"""Systems without a layer of their own, which could not be trained beside a frozen encoder."""


def word_alignment(lab: Lab) -> None:
    """Alignment error rate; layer and method are chosen on the development links of other language pairs."""
    dev, test = _gold(lab)
    for method in ("fast_align", "hmm"):
        for column, path in test.items():
            value = _statistical(lab, method, column, path)
            lab.cell("real/word_alignment", row=method, column=column, value=value)
        found = [_statistical(lab, method, column, path, row=False) for column, path in dev.items()]
        lab.cell("real/word_alignment", row=method, column="dev", value=mean(found))
    systems = "encoder mlm tlm weam xlm_align ppa word_l2 self_training combined"
    for system in systems.split():
        for seed in lab.seeds if system != "encoder" else [None]:
            encoder = _encoder(lab, system, seed or 1)
            own = {"checkpoint": lab.checkpoint(encoder), "dev": dev, "test": test, "methods": _METHODS}
            links = lab.make(f"links of {encoder.name}", BestLinks, **own, label=system)
            for column in (*test, "dev", "layer"):
                value = links.value(column, row=_row(column) if column in test else NO_ROW)
                lab.cell("real/word_alignment", row=system, column=column, value=value, seed=seed)


def transfer(lab: Lab) -> None:
    """Zero-shot transfer from English, retrieval and lexicon induction, of each system and its ablations."""
    for system in ("encoder", *_SYSTEMS):
        for seed in lab.seeds:
            encoder = _encoder(lab, system, seed)
            for name, task in _tasks(lab).items():
                if name not in ("retrieval", "lexicon"):
                    scores = languages.zero_shot(lab, encoder, task, seed)
                elif name == "lexicon" and system == "align_mlm":
                    scores = TaskScores(Unavailable("the dictionary was trained on"), task.languages)
                else:
                    scores = lab.evaluate(encoder, task)
                for language in task.languages:
                    value = scores.value(language)
                    lab.cell("real/transfer", row=system, column=(name, language), value=value, seed=seed)


def translate_train(lab: Lab) -> None:
    """Training on labels projected to translations, beside zero-shot transfer in as many steps."""
    for seed in lab.seeds:
        for name, models in (("pos", _taggers), ("xquad", _readers)):
            usual = _tasks(lab)[name]
            spoken = usual.languages if lab.scale == "tiny" else _TRANSLATED[name]
            train = {**usual.train, "precision": lab.at("float32", "bfloat16", "bfloat16")}
            task = replace(usual, languages=spoken, train=train)
            for row, model in models(lab, task, seed).items():
                scores = lab.evaluate(model, task, ["en", *spoken])
                for language in scores.languages:
                    value = scores.value(language)
                    lab.cell("real/translate_train", row=row, column=(name, language), value=value, seed=seed)


_TRANSLATED = {"pos": ("de", "es", "fr", "hi", "zh"), "xquad": ("de", "es", "hi", "zh")}
_HERE = "{language}"


def _taggers(lab: Lab, task: StudyTask, seed: int) -> dict[str, Call]:
    """Taggers of English, and of English and as many tagged translations.

    There is no translation of the English treebank, so its tagger tags the English side of bitext, and these tags are
    projected. The control learns from its tags of the translations themselves.
    """
    english = "train=" + task.data[0] if lab.scale == "tiny" else task.data[0]
    english += lab.at("", "#0:32%", "")  # of EWT 4,014 sentences
    epochs = task.train["epochs"]
    tagger = _tuned(lab, "zero-shot", task, [english], "en", seed, 2 * epochs)
    train: dict[str, list[str | Output]] = {"projected": [english], "self-labelled": [english]}
    for code in task.languages:
        drawn = {"corpus": _pairs(lab, code).call / "corpus", "count": lab.size["tagged_pairs"], "seed": seed}
        how = {"checkpoint": tagger / "checkpoint", "task": task.kind, "precision": task.train["precision"]}
        tagged = lab.make(f"tagged {code} s{seed}", TagPairs, **how, **drawn, language=code)
        projected = _projected(lab, tagged / "source.tsv", tagged / "target.txt", code, "pos")
        train["projected"].append("train=" + (projected / f"{_HERE}.tsv"))
        train["self-labelled"].append("train=" + (tagged / f"{_HERE}.tsv"))
    spoken = ",".join(["en", *task.languages])
    return {"zero-shot": tagger} | {
        row: _tuned(lab, row, task, data, spoken, seed, epochs) for row, data in train.items()
    }


def _readers(lab: Lab, task: StudyTask, seed: int) -> dict[str, Call]:
    """Models of the same questions in English, and in translations with projected and with gold answers."""
    labels: str | Output = f"{DATA}/xquad/xquad.en.json"
    train: list[str | Output] = []
    for code in task.languages:
        translation: str | Output = f"{DATA}/xquad/xquad.{code}.json"
        if lab.scale == "tiny":
            labels = languages.english(lab) / "qa/en.train.json"
            translation = world(lab, code) / f"{code}/qa.train/derived.jsonl"
        projected = _projected(lab, labels, translation, code, "questions") / f"{_HERE}.jsonl"
        train.append("train=" + projected + lab.at("", "#0:80%", "#0:80%"))
    task = replace(task, train={**task.train, "batch_size": 8})  # few questions
    epochs, spoken = task.train["epochs"], ",".join(task.languages)
    few = epochs / len(task.languages)
    return {
        "zero-shot": _tuned(lab, "zero-shot", task, [], "en", seed, epochs),
        "projected": _tuned(lab, "projected", task, train, spoken, seed, few),
        "gold": _tuned(lab, "gold", task, [], spoken, seed, few),
    }


def _tuned(
    lab: Lab, row: str, task: StudyTask, train: Sequence[str | Output], spoken: str, seed: int, epochs: float
) -> Call:
    """The encoder fine-tuned on a task, on other training data if there are any."""
    if train:
        kept = [spec for spec in task.data if not (isinstance(spec, str) and spec.startswith("train="))]
        task = replace(task, data=[*kept, *train])
    encoder = External(row, lab.checkpoint(_encoder(lab, "encoder", seed)))
    setting = "zero_shot" if spoken == "en" else "translate_train"
    return cast(Call, lab.finetune(encoder, task, spoken, seed=seed, setting=setting, epochs=epochs))


def _projected(lab: Lab, labels: str | Output, translation: str | Output, language: str, kind: str) -> Call:
    """Labels carried to a translation by the packaged aligner, which knows no derived language: there by the HMM."""
    options = {"kind": kind, **lab.at({"method": "hmm"}, {}, {})}
    sides = {"labels": labels, "translation": translation, "language": language}
    return lab.make(f"projected {kind} {language}", ProjectLabels, **sides, options=options)


def _encoder(lab: Lab, system: str, seed: int) -> Call | External:
    """The encoder as it is, or continued by a system."""
    base = languages.start(lab, "") if lab.scale == "tiny" else External("encoder", "${ISOGLOT_ENCODER}")
    if system == "encoder":
        return base
    size, (views, objectives) = lab.size, _SYSTEMS[system]
    sources = [
        {"path": _aligned(lab, code) / "data-*.parquet", "source_language": "en", "target_language": code}
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
        words = [{"path": _lexicon(lab, code), "target_language": code} for code in known]
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


def _aligned(lab: Lab, language: str) -> Output:
    """The pairs of a language with the HMM's intersected links; in the miniature world with those of construction."""
    if lab.scale == "tiny":
        return languages.aligned(lab, language)
    call = lab.make(
        f"aligned {language}",
        Align,
        path=_pairs(lab, language),
        source={"source_language": "en", "target_language": language},
        method="hmm",
        symmetrisation="intersect",
    )
    return call / "aligned"


def _pairs(lab: Lab, language: str) -> Output:
    if lab.scale == "tiny":
        source = {**languages.bitext(lab, language), "source_language": "en"}
        return lab.make(f"pairs {language}", Prepare, source=source, options={}) / "corpus/data-*.parquet"
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
    return lab.make(f"pairs {language}", Prepare, source=source, options=options) / "corpus/data-*.parquet"


def _gold(lab: Lab) -> tuple[dict[str, Any], dict[str, Any]]:
    """Gold links to choose by, and to measure on."""
    if lab.scale == "tiny":
        folder = languages.gold_links(lab, _spoken(lab))
        own = {f"en-{code}": folder / f"en-{code}.jsonl" for code in _spoken(lab)}
        return {"en-de": own.pop("en-de")}, own
    links = f"{DATA}/wordalign"
    test = {pair: f"{links}/{pair}.jsonl" for pair in _TEST}
    test |= {pair: f"{links}/{pair}.xlwa.test.jsonl" for pair in _XLWA}
    return {pair: f"{links}/{pair}.xlwa.dev.jsonl" for pair in _XLWA}, test


def _statistical(lab: Lab, method: str, pair: str, gold: str | Output, *, row: bool = True) -> Value:
    """AER of a statistical aligner that learns from the gold sentences and all pairs of their languages."""
    language = next(code for code in pair.split("-") if code != "en")
    train, known = None, lab.scale != "tiny" and language in _LANGUAGES
    if known:
        train = {"path": _pairs(lab, language), "source_language": "en", "target_language": language}
    own = {"gold": gold, "method": method, "train": train, "reverse": pair in _REVERSED and known}
    call = lab.make(f"{method} {pair}", StatisticalAlignment, **own, label=method)
    return call.value("aer", row=_row(pair) if row else NO_ROW)


def _row(pair: str) -> tuple[str, str, str]:
    return "word_alignment", pair, "aer"


def _tasks(lab: Lab) -> dict[str, StudyTask]:
    kinds = {
        "pos": ("pos", "tag", ("de", "fr", "hi", "zh")),
        "ner": ("ner", "tag", ("de", "es", "fr")),
        "nli": ("xnli", "pair", ("de", "es")),
        "xquad": ("xquad", "question", ("de", "es", "hi", "zh")),
    }
    found: dict[str, StudyTask] = {}
    for name, (kind, group, real) in kinds.items():
        spoken = _spoken(lab) if lab.scale == "tiny" else real
        data = languages.task_data(lab, kind, spoken) if lab.scale == "tiny" else languages.real_data(kind)
        train = languages.tuning(lab, group, warmup=0.1, select="last")
        found[name] = StudyTask(kind, data, spoken, train=train)
    layer, absent = {"layer": 8}, "not in the miniature world" if lab.scale == "tiny" else ""
    spoken = ("de", "es", "fr", "hi", "zh")
    found["retrieval"] = StudyTask("tatoeba", [f"{DATA}/tatoeba"], spoken, options=layer, unavailable=absent)
    pairs = [f"en-{code}" for code in spoken]
    words = [f"{DATA}/lexicon/muse.{{language}}.txt"]
    found["lexicon"] = StudyTask("lexicon_induction", words, pairs, options=layer, unavailable=absent)
    return found


def _lexicon(lab: Lab, language: str) -> str | Output:
    if lab.scale == "tiny":
        return world(lab, language) / f"{language}/text/lexicon.txt"
    return f"{DATA}/lexicon/muse.en-{language}.txt"
