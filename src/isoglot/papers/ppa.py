"""PPA (Pan et al. 2021): multilingual BERT continued by sentence contrast (MoCo) and TLM, one model of all languages.

``tableN`` are the paper's. In translate-train there is one fine-tuned model per language (inferred: the paper's English
column does not change). Its data are code-switched with English (§2); English itself is zero-shot.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from isoglot.papers import languages
from isoglot.studies import (
    DescribeEncoder,
    External,
    Lab,
    PaperColumn,
    PaperRow,
    StudyTask,
    UnavailableError,
    Work,
)

#        name: (tiny, small, paper), or one value for all scales
SIZES: dict[str, Any] = {
    "seeds": ([1, 2, 3], [1, 2, 3], [1]),  # not given
    "ablation_seeds": ([1], [1, 2, 3], [1]),  # of Table 5: 87 fine-tuned models a seed
    "pairs_250k": (750, 3_000, 250_000),  # Table 1: sentence pairs a language
    "pairs_600k": (1_800, 9_000, 600_000),
    "pairs_2M": (6_000, 60_000, 2_000_000),
    "epochs": 10,  # §3.3
    "epochs_2M": 5,  # §3.3
    "masking": 0.15,  # §2.2
    "length": (64, 128, 128),  # §3.3
    "batch": (64, 64, 128),  # §3.3
    "learning_rate": (5e-4, 5e-4, 3e-5),  # §3.3
    "min_pieces": (None, 5, 10),  # §3.1: of a side
    "projection": (128, 128, 300),  # §2.1
    "queue": (4_096, 4_096, 32_000),  # §3.3
    "momentum": (0.99, 0.99, 0.999),  # §3.3; in a short run the keys have to follow
    "normalize_z": (True, True, False),  # not given; MoCo's code: true. The literal form moves late
    "bias": False,  # of the projection; Eq. 2 writes none, MoCo's code has one
    "positive_in_denominator": True,  # MoCo's code; Eq. 3: false
    "mask_duplicates": ("same_source_id", "same_source_id", "none"),  # not given
    "pooling": "cls",  # §2.1; footnote 1: mean is slightly worse
    "shuffle": True,  # §2.1, "a crucial step": false feeds English to the query, the translation to the key
    "originals": False,  # footnote 2: true keeps translations beside their code-switched copies
    "cao_pairs": (750, 9_000, 250_000),  # Cao et al. 2020: pairs a language
    "cao_rate": (2e-4, 1e-4, 5e-5),
    "cao_batch": (32, 32, 8),
    "cao_epochs": (5, 1, 1),
    "xnli_epochs": (5, 4, 2),  # §3.3, of fine-tuning
    "xnli_rate": (3e-4, 2e-4, 5e-5),  # §3.3
    "xnli_switched": (3, 4, 2),  # epochs with code-switching, which makes twice as many examples
    "mlqa_epochs": (6, 10, 2),  # §3.3
    "mlqa_rate": (5e-4, 2e-4, 3e-5),  # §3.3
    "mlqa_switched": (3, 5, 2),
    "warmup": (0.1, 0.1, 1_000),  # §3.3, of fine-tuning
    "laser": None,  # package.module:Name of a function from texts to LASER's vectors, for its row of Table 2
    "laser_rate": 1e-3,  # not given
    "laser_epochs": (20, 20, 10),  # not given
    **languages.SIZES,
}
VARIANTS: dict[str, Any] = {  # docs/reference/variants.md
    "literal": {
        "normalize_z": False,
        "positive_in_denominator": False,
        "mask_duplicates": "none",
        "bucket": 1,
    },
    "authors": {  # MoCo's code, which the paper builds on; PPA's own is not published
        "normalize_z": True,
        "bias": True,
        "mask_duplicates": "none",
        "bucket": 1,
    },
}
ABOUT = {
    "tiny": (
        "The miniature world; derived copies of it play German, Spanish, French, Hindi and Chinese. mBERT is an "
        "encoder trained on all of them. 250k, 600k and 2M pairs a language are 750, 1,800 and 6,000, of which the "
        "last are all sentences that the encoder knows."
    ),
    "small": (
        "Real text in five languages, and an encoder of 4 layers trained on both sides of the bitext in place of "
        "mBERT. 250k, 600k and 2M pairs a language are 3,000, 9,000 and all of them (9,600 to 57,000). "
        f"{languages.REAL_SMALL}"
    ),
    "paper": "The paper's sizes. "
    "ISOGLOT_CHECKPOINTS holds mBERT, XLM and XLM-R, ISOGLOT_CORPORA bitext and the tasks' data, translations too.",
}
_MBERT = "bert-base-multilingual-cased"
_RECIPES = {
    "ppa": "ppa",
    "ppa_no_moco": "ppa_no_moco",
    "ppa_no_tlm": "moco",
    "ppa_mlm": "ppa_mlm",
}
"""PPA and the ablations of Table 5, with their recipes."""
_OTHERS = {
    "xlm_mlm": ("xlm-mlm-xnli15-1024", "sacremoses"),
    "xlm_mlm_tlm": ("xlm-mlm-tlm-xnli15-1024", "sacremoses"),
    "xlmr_base": ("xlm-roberta-base", ""),
}
"""Other papers' encoders, with the names of their checkpoints and a package that the tokenizer needs."""
_CORPORA = {
    "fr": "Europarl",
    "es": "Europarl",
    "de": "Europarl",
    "ar": "MultiUN",
    "zh": "MultiUN",
    "hi": "IITB",
}
"""Languages with the corpus that is a file of its own at scale paper. Bulgarian has two corpora in one file."""
_SHAPE = {
    "L": "layers",
    "H_m": "hidden",
    "H_ff": "feed_forward",
    "A": "heads",
    "V": "vocabulary",
    "params": "parameters",
}
"""Columns of Table 3, with the names that :class:`DescribeEncoder` has for them."""
_COPIES_BY_TASK = {"xnli": ("fr", "es", "de", "zh", "hi"), "mlqa": ("es", "de", "zh", "hi")}
"""Tasks with the languages that copies of the miniature world play in them."""


def table1(lab: Lab) -> None:
    """Sentence pairs by language: those that are read, and those that PPA is trained on."""
    note = "Counted in the corpora of PPA's recipe. A row of one corpus has what is read of it."
    languages.fill(lab, "ppa:Table1", partial(_pair_count, lab), note=note, seeds=[1], is_result=False)


def table3(lab: Lab) -> None:
    """Shapes of the encoders: layers, widths, heads, vocabulary, parameters."""
    note = "Read in the encoders' configurations; parameters are those of the encoder without a head."
    languages.fill(lab, "ppa:Table3", partial(_shape, lab), note=note, seeds=[1], is_result=False)


def table2(lab: Lab) -> None:
    """XNLI by the number of sentence pairs: zero-shot and translate-train."""
    note = "The paper's rows of mBERT, Cao, XLM and LASER are others' numbers; our mBERT and Cao are trained here."
    languages.fill(lab, "ppa:Table2", partial(_cell, lab, "xnli"), note=note)


def table4(lab: Lab) -> None:
    """MLQA (XLT) by the number of sentence pairs: zero-shot and translate-train."""
    note = "The paper's rows of mBERT, XLM and XLM-R are other papers' numbers; ours in all rows of mBERT are one run."
    languages.fill(lab, "ppa:Table4", partial(_cell, lab, "mlqa"), note=note)


def table5(lab: Lab) -> None:
    """Ablations on XNLI: without MoCo, without TLM, with MLM in place of TLM, without code-switching."""
    languages.fill(lab, "ppa:Table5", partial(_cell, lab, "xnli"), seeds=lab.size["ablation_seeds"])


def _cell(lab: Lab, kind: str, row: PaperRow, column: PaperColumn, seed: int) -> float:
    """A score of XNLI or MLQA in the column's language, by the row's encoder and the row's way of fine-tuning.

    The row's setting decides which data the encoder is fine-tuned on:

    1. ``zero-shot``: English.
    2. Translate-train, column ``en``: English as well, because its own data need no translation.
    3. Translate-train, another column: training data translated into that language, and nothing else.
    4. Translate-train of a row with code-switching (PPA's §2): the same data, mixed with English words.
    """
    size = lab.size
    task = _task(lab, kind)
    encoder = _encoder(lab, row.system, str(row.attributes.get("pairs", "")), seed)
    # Artetxe and Schwenk 2019 train a classifier on LASER's vectors, which do not change.
    if row.system == "laser":
        classifier = {"learning_rate": size["laser_rate"], "epochs": size["laser_epochs"]}
        task = replace(task, train={**task.train, **classifier, "frozen": "vectors"})

    language = column.language
    is_zero_shot = row.setting == "zero-shot"
    if not is_zero_shot and lab.scale == "small" and kind == "xnli":
        raise UnavailableError("no translated training data here")
    # A language that the task does not have at this scale is refused by the zero-shot evaluation.
    if is_zero_shot or language == "en" or language not in task.languages:
        return languages.zero_shot(lab, encoder, task, seed).value(language, column.metric)

    settings: dict[str, Any] = {"setting": "translate_train"}
    if row.attributes.get("code_switch"):
        settings = {"setting": "code_switch", "epochs": size[f"{kind}_switched"]}
        # An example and its two code-switched copies share a batch, so its size is a multiple of three.
        if size["originals"]:
            settings |= {"setting": "code_switch_and_originals", "batch_size": 33}
    scores = lab.evaluate(encoder, task, [language], trained_on=language, seed=seed, **settings)
    return scores.value(language, column.metric)


def _task(lab: Lab, kind: str) -> StudyTask:
    """XNLI or MLQA, in the languages that have its data at this scale."""
    copies = _COPIES_BY_TASK[kind]
    if kind == "xnli":
        spoken = lab.at(copies, ("es", "de"), ("fr", "es", "de", "bg", "ar", "zh", "hi"))
    else:
        spoken = lab.at(copies, copies, ("ar", "de", "es", "hi", "zh"))
    # Where data are few, the last epoch is taken: there is too little to choose the best one by.
    last = {} if lab.scale == "paper" else {"select": "last"}
    train = languages.tuning(lab, kind, warmup=lab.size["warmup"], **last)
    return StudyTask(kind, languages.task_data(lab, kind, copies), spoken, preset="ppa", train=train)


def _pair_count(lab: Lab, row: PaperRow, column: PaperColumn, seed: int) -> float:
    """A number of sentence pairs; ``total`` is the sum over the languages."""
    group, label = row.attributes["group"], row.label

    # Cells that a study cannot fill, each with its reason.
    if group == "Original data":
        raise UnavailableError("a study counts what it reads: the next rows")
    if group == "Used by other approaches":
        raise UnavailableError("another paper's data")
    spoken = lab.at(
        _COPIES_BY_TASK["xnli"], _COPIES_BY_TASK["xnli"], ("fr", "es", "de", "bg", "ar", "zh", "hi")
    )
    if column.language and column.language not in spoken:
        raise UnavailableError("no data in this language at this scale")
    if group == "Considered in this paper" and label != "Total":
        if lab.scale != "paper":
            raise UnavailableError("every language has one corpus of its own at this scale: see Total")
        if _CORPORA.get(column.language) != label:
            raise UnavailableError("not a file of its own: see Total")

    # "Ours (250k)" counts the pairs that the model of 250k is trained on. The other rows count all pairs that are read.
    # Reading ends where the limit of the model is reached, so what is counted for them is what the model of 2M reads,
    # the largest limit.
    if group == "Used for PPA":
        limit = label.removeprefix("Ours (").removesuffix(")")
        counted = "kept"
    else:
        limit = "2M"
        counted = "read"
    sections = _sections(lab, "ppa", limit)
    count = languages.counted(lab, f"ppa {limit}", "ppa", languages.start(lab, _MBERT), sections)
    wanted = [code for code in spoken if column.language in ("", code)]  # the column `total` has no language
    return sum(count(f"bitext/en-{code}/{counted}") for code in wanted)


def _shape(lab: Lab, row: PaperRow, column: PaperColumn, seed: int) -> float:
    """A size of an encoder; PPA has the shape of the encoder that it continues."""
    known = {"mBERT": "mbert", "Ours": "mbert", "XLM": "xlm_mlm_tlm", "XLM-R_Base": "xlmr_base"}
    if column.id == "n_langs" and row.label != "XLM":
        raise UnavailableError("a configuration does not name the languages")
    encoder = _encoder(lab, known[row.label], "", seed)
    work = lab.make(f"{encoder.name} shape", DescribeEncoder, checkpoint=lab.checkpoint(encoder))
    return work.value(_SHAPE.get(column.id, "languages"))


def _encoder(lab: Lab, system: str, pairs: str, seed: int) -> Work | External:
    """Ask for the encoder of a row: another paper's, PPA, or an ablation of PPA.

    ``pairs``: Sentence pairs per language that PPA is trained on, as the paper's rows have them: ``250k``.
    """
    if system == "mbert":
        return languages.start(lab, _MBERT)
    if system == "laser":
        function = lab.size["laser"]
        if function is None:
            raise UnavailableError("LASER: give a function from texts to vectors, `--set laser=MODULE:NAME`")
        return lab.external("LASER", function)
    if system == "cao2020":
        few = ("fr", "es", "de")
        return languages.cao2020(lab, _MBERT, lab.at(few, few, ("bg", "de", "el", "es", "fr")), seed)
    if system in _OTHERS:
        return languages.external(lab, system, *_OTHERS[system])
    run = system if pairs == "250k" else f"{system} pairs={pairs}"
    sections = _sections(lab, system, pairs)
    return languages.continued(lab, run, _RECIPES[system], languages.start(lab, _MBERT), sections, seed=seed)


def _contrast(size: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the contrast of sentences (MoCo)."""
    same_name = ("normalize_z", "bias", "positive_in_denominator", "mask_duplicates", "momentum")
    contrast = {
        "projection_size": size["projection"],
        "queue_size": size["queue"],
        **{name: size[name] for name in same_name},
    }
    # The default stays unwritten: a written one would change the hash of runs that exist.
    if size["pooling"] != "cls":
        contrast["pooling"] = size["pooling"]
    return contrast


def _sections(lab: Lab, system: str, pairs: str) -> dict[str, Any]:
    """Return the sections of PPA's recipe, or of an ablation's, with a number of pairs per language.

    ``pairs`` is as in the paper's rows: ``250k``, ``600k`` or ``2M``. Sections are laid over the recipe:
    :meth:`~isoglot.studies.lab.Lab.pretrain` says how.
    """
    size = lab.size
    is_paper = lab.scale == "paper"

    # None takes the recipe's tokenizer away, so that the filters count pieces of the encoder's own.
    stream: dict[str, Any] = {"tokenizer": None, "limit": size[f"pairs_{pairs}"]}
    # The recipe's 10 stays unwritten at scale paper: a written one would change the hash of runs that exist.
    if not is_paper or size["min_pieces"] != 10:
        stream["min_pieces"] = size["min_pieces"]
    if not is_paper:
        stream["sources"] = [languages.bitext(lab, code) for code in _COPIES_BY_TASK["xnli"]]
    if lab.scale == "tiny":
        stream["max_pair_pieces"] = None

    # A view for each masked-LM loss (TLM: the pair; MLM: each sentence alone), and the sentences for the contrast.
    masked = {"probability": size["masking"], "max_length": size["length"]}
    sentences: dict[str, Any] = {"max_length": size["length"]}
    pair = dict(masked)
    if not size["shuffle"]:
        sentences["order"] = "source_is_query"
        pair["order"] = "source_first"
    views: dict[str, Any] = {}
    if system == "ppa_mlm":
        views["first"] = masked
        views["second"] = masked
    elif system != "ppa_no_tlm":
        views["pair"] = pair
    if system != "ppa_no_moco":
        views["sentences"] = sentences

    objectives = {} if system == "ppa_no_moco" else {"contrast": _contrast(size)}
    train: dict[str, Any] = {"learning_rate": size["learning_rate"]}
    if not is_paper:
        train["fp16"] = None
    return {
        "streams": {"bitext": stream},
        "views": views,
        "objectives": objectives,
        "batch": {"examples": size["batch"]},
        "epochs": {"count": size["epochs_2M" if pairs == "2M" else "epochs"]},
        "train": train,
    }
