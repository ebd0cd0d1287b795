"""A pre-trained encoder of your own: its word alignment and its transfer, before and after each system.

``ISOGLOT_ENCODER`` names any multilingual encoder, ``ISOGLOT_DATA`` the folder of real data. All systems continue the
same encoder on the same pairs for the same steps. Nothing is chosen on a test set. The data are in ``real_data.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

from isoglot.papers import languages
from isoglot.papers.languages import DATA, copy_of_world
from isoglot.papers.real_data import (
    TRANSFER_TASKS,
    aligned_pairs,
    dictionaries,
    gold_files,
    gold_pairs,
    languages_of_bitext,
    languages_of_task,
    more_bitext,
    prepared_pairs,
    task_of,
)
from isoglot.studies import (
    BestLinks,
    External,
    Lab,
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
    "head_rate": (1.0, 10.0, 10.0),  # of new layers, as a multiple of the learning rate
    "head_steps": (30, 100, 300),  # in which new layers are trained alone
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
_METHODS = ["argmax", "itermax", "softmax"]
"""Ways to read word links from an encoder; the best of them is chosen on development links."""

# Views: what an encoder reads of a pair of sentences.
_PAIR = {"type": "masked_pair", "stream": "bitext", "order": "shuffle", "probability": 0.15}
_SIDES = {
    side: {"type": "masked_text", "stream": "bitext", "side": side, "probability": 0.15}
    for side in ("source", "target")
}
_SENTENCES = {"type": "sentence_pair", "stream": "bitext"}

# Objectives, each with the view that it reads.
_TLM = {"masked_lm": {"type": "masked_lm", "view": "pair"}}
_MLM = {f"masked_lm_{side}": {"type": "masked_lm", "view": side, "weight": 0.5} for side in _SIDES}
_WEAM = {"word_exchange": {"type": "word_exchange", "view": "pair"}}
_POINTER = {"word_alignment": {"type": "denoising_word_alignment", "view": "pair"}}
_CONTRAST = {
    "contrast": {
        "type": "sentence_contrast",
        "view": "sentences",
        "projection_size": 128,
        # The paper's literal form, False, begins to learn late in a run as short as this one.
        "normalize_z": True,
        "queue_size": 4_096,
        # In a short run the key encoder has to follow the query encoder faster than by the paper's 0.999.
        "momentum": 0.99,
        "mask_duplicates": "same_source_id",
    }
}
_IN_BATCH = {"contrast": {"type": "in_batch_contrast", "view": "sentences", "pooling": "mean"}}
# Cao et al. 2020: the system `word_l2` here, `cao2020` in the papers' tables.
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
_WITHOUT_NEW_LAYERS = ("word_l2", "self_training", "links_and_contrast")
"""Systems without a layer of their own: while the encoder is frozen, they would have nothing to train."""


def word_alignment(lab: Lab) -> None:
    """Alignment error rate; layer and method are chosen on the development links of other language pairs."""
    _, test_pairs = gold_pairs(lab)
    for method in ("fast_align", "hmm"):
        for column in (*test_pairs, "dev"):
            value = partial(_statistical_error, lab, method, column)
            lab.cell("real/word_alignment", row=method, column=column, value=value, is_result=column != "dev")
    for system in _ALIGNED:
        # The encoder itself is the same for every seed.
        for seed in [None] if system == "encoder" else lab.seeds:
            for column in (*test_pairs, "dev", "layer"):
                value = partial(_encoder_error, lab, system, seed or 1, column)
                lab.cell(
                    "real/word_alignment",
                    row=system,
                    column=column,
                    seed=seed,
                    value=value,
                    is_result=column in test_pairs,
                )


def _statistical_error(lab: Lab, method: str, column: str) -> float:
    """AER of a statistical aligner on a test pair, or with the column ``dev`` its mean over the development pairs.

    The aligner learns from the gold sentences and from all bitext of their languages.
    """
    dev, test = gold_files(lab)
    gold_by_pair = dev if column == "dev" else {column: test[column]}
    errors = []
    for pair, gold in gold_by_pair.items():
        train, reverse = more_bitext(lab, pair)
        work = lab.make(
            f"{method} {pair}",
            StatisticalAlignment,
            gold=gold,
            method=method,
            train=train,
            reverse=reverse,
            label=method,
        )
        errors.append(work.value("aer", row=("word_alignment", pair, "aer")))
    return fmean(errors)


def _encoder_error(lab: Lab, system: str, seed: int, column: str) -> float:
    """AER of an encoder on a test pair, its least mean AER on development links (``dev``), or the ``layer`` of that."""
    encoder = _encoder(lab, system, seed)
    dev, test = gold_files(lab)
    work = lab.make(
        f"links of {encoder.name}",
        BestLinks,
        checkpoint=lab.checkpoint(encoder),
        dev=dev,
        test=test,
        methods=_METHODS,
        label=system,
    )
    return work.value(column, row=("word_alignment", column, "aer"))


def transfer(lab: Lab) -> None:
    """Zero-shot transfer from English, retrieval and lexicon induction, of each system and its ablations."""
    for system, seed, name in product(("encoder", *_SYSTEMS), lab.seeds, TRANSFER_TASKS):
        for language in languages_of_task(lab, name):
            value = partial(_transfer_score, lab, system, name, language, seed)
            lab.cell("real/transfer", row=system, column=(name, language), value=value, seed=seed)


def _transfer_score(lab: Lab, system: str, name: str, language: str, seed: int) -> float:
    """A system's score on a task of the transfer table in a language."""
    if name == "lexicon" and system == "align_mlm":
        raise UnavailableError("the dictionary was trained on")
    encoder, task = _encoder(lab, system, seed), task_of(lab, name)
    if name in ("retrieval", "lexicon"):
        return lab.evaluate(encoder, task).value(language)
    return languages.zero_shot(lab, encoder, task, seed).value(language)


def translate_train(lab: Lab) -> None:
    """Training on labels projected to translations, beside zero-shot transfer in as many steps."""
    rows = {"pos": ("zero-shot", "projected", "self-labelled"), "xquad": ("zero-shot", "projected", "gold")}
    translated = {"pos": ("de", "es", "fr", "hi", "zh"), "xquad": ("de", "es", "hi", "zh")}
    for seed, name in product(lab.seeds, rows):
        targets = languages_of_bitext(lab) if lab.scale == "tiny" else translated[name]
        for row, language in product(rows[name], ("en", *targets)):
            value = partial(_translate_train_score, lab, name, targets, row, language, seed)
            lab.cell("real/translate_train", row=row, column=(name, language), value=value, seed=seed)


def _translate_train_score(
    lab: Lab, name: str, targets: Sequence[str], row: str, language: str, seed: int
) -> float:
    """The score in a language of the encoder fine-tuned as the row says, on ``pos`` or ``xquad``.

    ``targets``: The languages beside English, in which there are translations.
    """
    task = task_of(lab, name)
    precision = lab.at("float32", "bfloat16", "bfloat16")
    task = replace(task, languages=targets, train={**task.train, "precision": precision})
    training = _pos_training(lab, task, row, seed) if name == "pos" else _question_training(lab, task, row)
    if training.data:
        # The row's data take the place of the task's own training data. The task's test data stay.
        task = replace(task, data=[*_without_training_data(task), *training.data])

    settings: dict[str, Any] = {"setting": "translate_train", "epochs": training.epochs}
    if training.languages == "en":
        settings["setting"] = "zero_shot"
    if name == "xquad":
        # A small batch, because there are few questions.
        settings["batch_size"] = 8
    encoder = External(row, lab.checkpoint(_encoder(lab, "encoder", seed)))
    scores = lab.evaluate(
        encoder, task, ["en", *targets], trained_on=training.languages, seed=seed, **settings
    )
    return scores.value(language)


class _TrainingData(NamedTuple):
    """Training data of a row of the translate-train table."""

    data: list[str]  # specifications that begin with `train=`; empty: the task's own
    languages: str  # of the data, with commas
    epochs: float


def _without_training_data(task: StudyTask) -> list[str]:
    """Return the data of a task without the specifications that are for training alone."""
    return [spec for spec in task.data if not spec.startswith("train=")]


def _pos_training(lab: Lab, task: StudyTask, row: str, seed: int) -> _TrainingData:
    """Return the training data of a row for parts of speech.

    Nobody translated the English treebank. So the encoder is first fine-tuned on the treebank, and tags bitext:

    1. Row ``zero-shot``: the treebank alone, for twice the epochs: the rows with translations have twice the sentences.
    2. Row ``projected``: the treebank, and translations with the tags of their English sentences, carried over links.
    3. Row ``self-labelled``: the treebank, and translations with tags that the tagger gave them; the control.
    """
    epochs = task.train["epochs"]
    # Tiny has one specification for all splits; at the other scales the first one begins with `train=` already.
    treebank = f"train={task.data[0]}" if lab.scale == "tiny" else task.data[0]
    # 32 % of EWT are 4,014 sentences, about as many as the translations.
    treebank += lab.at("", "#0:32%", "")
    zero_shot = _TrainingData([treebank], "en", 2 * epochs)
    if row == "zero-shot":
        return zero_shot

    encoder = External("zero-shot", lab.checkpoint(_encoder(lab, "encoder", seed)))
    english_task = replace(task, data=[*_without_training_data(task), treebank])
    tagger = lab.finetune(
        encoder, english_task, "en", seed=seed, setting="zero_shot", epochs=zero_shot.epochs
    )
    data = [treebank]
    for code in task.languages:
        tagged = lab.make(
            f"tagged {code} s{seed}",
            TagPairs,
            checkpoint=tagger / "checkpoint",
            task=task.kind,
            precision=task.train["precision"],
            corpus=prepared_pairs(lab, code) / "corpus",
            count=lab.size["tagged_pairs"],
            seed=seed,
            language=code,
        )
        folder = tagged
        if row == "projected":
            folder = _projected(lab, tagged / "source.tsv", tagged / "target.txt", code, "pos")
        data.append(f"train={folder}/{{language}}.tsv")
    return _TrainingData(data, ",".join(["en", *task.languages]), epochs)


def _question_training(lab: Lab, task: StudyTask, row: str) -> _TrainingData:
    """Return the training data of a row for questions.

    1. Row ``zero-shot``: English questions.
    2. Row ``projected``: their translations, with the English answers carried over word links.
    3. Row ``gold``: their translations, with the answers that translators marked: the task's own data.

    With four languages the translations are four times as many as the English questions, so they are read for a
    quarter of the epochs.
    """
    epochs = task.train["epochs"]
    if row == "zero-shot":
        return _TrainingData([], "en", epochs)
    data = []
    if row == "projected":
        for code in task.languages:
            if lab.scale == "tiny":
                labels = languages.english(lab) / "qa/en.train.json"
                translation = copy_of_world(lab, code) / f"{code}/qa.train/derived.jsonl"
            else:
                labels = f"{DATA}/xquad/xquad.en.json"
                translation = f"{DATA}/xquad/xquad.{code}.json"
            folder = _projected(lab, labels, translation, code, "questions")
            data.append(f"train={folder}/{{language}}.jsonl{lab.at('', '#0:80%', '#0:80%')}")
    return _TrainingData(data, ",".join(task.languages), epochs / len(task.languages))


def _projected(lab: Lab, labels: str, translation: str, language: str, kind: str) -> Work:
    """Carry labels to a translation with the packaged aligner.

    The packaged aligner knows no derived language, so in the miniature world the HMM carries the labels.
    """
    options = {"kind": kind, **lab.at({"method": "hmm"}, {}, {})}
    return lab.make(
        f"projected {kind} {language}",
        ProjectLabels,
        labels=labels,
        translation=translation,
        language=language,
        options=options,
    )


def _encoder(lab: Lab, system: str, seed: int) -> Work | External:
    """Return the encoder of a system: ``encoder`` is the one to start from, every other system continues it."""
    base = languages.start(lab, "") if lab.scale == "tiny" else External("encoder", "${ISOGLOT_ENCODER}")
    if system == "encoder":
        return base
    size = lab.size
    system_views, system_objectives = _SYSTEMS[system]

    sources = []
    for code in languages_of_bitext(lab):
        path = f"{aligned_pairs(lab, code)}/data-*.parquet"
        # WEAM's recipe names no languages, so each source names both.
        sources.append({"path": path, "source_language": "en", "target_language": code})
    bitext = {
        "sources": sources,
        # The square root: a language with a quarter of another's pairs is drawn half as often.
        "sampling_exponent": 0.5,
        "encode": {"max_length": size["length"]},
    }
    streams: dict[str, Any] = {"bitext": bitext}
    if system == "align_mlm":
        streams["words"] = {"kind": "lexicon", "source_language": "en", "sources": dictionaries(lab)}

    # The recipe is WEAM's. None takes away its view and its objectives where the system does not have them.
    views: dict[str, Any] = {"pair": None}
    for name, view in system_views.items():
        views[name] = {**view, "max_length": size["length"]}
    objectives = {"masked_lm": None, "word_exchange": None, **system_objectives}

    parts = {
        "embeddings": 1.0 if system == "align_mlm" else size["embeddings_rate"],
        "head": size["head_rate"],
        "objectives": size["head_rate"],
        "freeze_encoder_steps": 0 if system in _WITHOUT_NEW_LAYERS else size["head_steps"],
    }
    sections = {
        "model": {"path": lab.checkpoint(base), "new_head": True},
        "streams": streams,
        "views": views,
        "objectives": objectives,
        "parts": parts,
        "batch": {"examples": size["batch"], "bucket": 50},
        "steps": size["steps"],
        "train": {"learning_rate": size["learning_rate"], "bf16": lab.scale != "tiny"},
    }
    return languages.continued(lab, system, "weam", base, sections, seed=seed)
