"""Data of ``real.py`` at each scale: bitext with and without word links, gold links, dictionaries, tasks."""

from collections.abc import Sequence

from isoglot.papers import languages
from isoglot.papers.languages import DATA
from isoglot.studies import Align, Lab, Prepare, StudyTask, Work

_LANGUAGES = ("de", "es", "fr", "hi", "ro", "zh")
_TEST_PAIRS = ("de-en", "en-fr", "ro-en", "en-hi")
"""Pairs of XLM-Align's Table 2, to measure on; the source comes first."""
_XLWA_PAIRS = ("en-es", "en-it", "en-nl")
"""Pairs of XL-WA, which has development links to choose a layer by, and test links to measure on."""
_FROM_OTHER_TO_ENGLISH = ("de-en", "ro-en")
"""Gold links whose source is not English. The source of all bitext here is English."""
_PARQUET = "corpus/data-*.parquet"
"""Files of a prepared corpus in the folder of the step that prepared it."""
_TASK_LANGUAGES = {
    "pos": ("de", "fr", "hi", "zh"),
    "ner": ("de", "es", "fr"),
    "nli": ("de", "es"),
    "xquad": ("de", "es", "hi", "zh"),
    "retrieval": ("de", "es", "fr", "hi", "zh"),
    "lexicon": ("en-de", "en-es", "en-fr", "en-hi", "en-zh"),
}
"""Tasks of the transfer table, with the languages of their real data, or for the lexicon the language pairs."""
_KINDS = {"pos": "pos", "ner": "ner", "nli": "xnli", "xquad": "xquad"}
"""Tasks that are fine-tuned, with their names in isoglot."""
_SIZE_GROUPS = {"pos": "tag", "ner": "tag", "nli": "pair", "xquad": "question"}
"""Tasks that are fine-tuned, with the group of sizes that holds their settings: ``tag`` stands for ``tag_epochs``."""
_WITHOUT_FINE_TUNING = {
    "retrieval": ("tatoeba", "tatoeba"),
    "lexicon": ("lexicon_induction", "lexicon/muse.{language}.txt"),
}
"""Tasks that are measured on the encoder itself, with their names in isoglot and the places of their data."""
TRANSFER_TASKS = tuple(_TASK_LANGUAGES)


def languages_of_bitext(lab: Lab) -> tuple[str, ...]:
    """Return the languages of the bitext that all systems continue on, English left out."""
    return ("de", "es", "fr", "hi") if lab.scale == "tiny" else _LANGUAGES


def prepared_pairs(lab: Lab, language: str) -> Work:
    """Return the folder of the prepared bitext of English and a language; the corpus is in ``corpus``."""
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
        # Retrieval is measured on these sentences.
        "held_out_flags": ["laser_tatoeba"],
        "duplicates": "pair",
        # Lengths are counted in words, which Chinese does not separate.
        "max_length_ratio": None if language == "zh" else 3.0,
        "limit": lab.size["pairs"],
    }
    return lab.make(f"pairs {language}", Prepare, source=source, options=options)


def aligned_pairs(lab: Lab, language: str) -> str:
    """Return the folder of a language's bitext with word links.

    The links are the intersection of the HMM's two directions. In the miniature world they are known by construction.
    """
    if lab.scale == "tiny":
        return languages.aligned(lab, language)
    work = lab.make(
        f"aligned {language}",
        Align,
        path=prepared_pairs(lab, language) / _PARQUET,
        source={"source_language": "en", "target_language": language},
        method="hmm",
        symmetrisation="intersect",
    )
    return work / "aligned"


def gold_pairs(lab: Lab) -> tuple[list[str], list[str]]:
    """Return the language pairs with gold links to choose a layer by, and those with gold links to measure on."""
    if lab.scale == "tiny":
        return ["en-de"], [f"en-{code}" for code in languages_of_bitext(lab) if code != "de"]
    return list(_XLWA_PAIRS), [*_TEST_PAIRS, *_XLWA_PAIRS]


def gold_files(lab: Lab) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of gold links to choose a layer by, and of those to measure on, by language pair.

    At scale paper the first are ``{"en-es": "${ISOGLOT_DATA}/wordalign/en-es.xlwa.dev.jsonl", ...}``.
    """
    dev_pairs, test_pairs = gold_pairs(lab)
    if lab.scale == "tiny":
        gold = languages.gold_links(lab, languages_of_bitext(lab))
        dev = {pair: gold / f"{pair}.jsonl" for pair in dev_pairs}
        test = {pair: gold / f"{pair}.jsonl" for pair in test_pairs}
        return dev, test
    folder = f"{DATA}/wordalign"
    dev = {pair: f"{folder}/{pair}.xlwa.dev.jsonl" for pair in dev_pairs}
    test = {}
    for pair in test_pairs:
        ending = ".xlwa.test.jsonl" if pair in _XLWA_PAIRS else ".jsonl"
        test[pair] = f"{folder}/{pair}{ending}"
    return dev, test


def more_bitext(lab: Lab, pair: str) -> tuple[dict[str, str] | None, bool]:
    """Return bitext from which a statistical aligner learns beside the gold sentences, and whether to swap its sides.

    1. The miniature world has gold sentences enough: no more bitext.
    2. A pair without bitext, such as ``en-it``: none.
    3. The bitext's source is English. For gold links from another language to English, such as ``de-en``, its sides
       are swapped.
    """
    language = next(code for code in pair.split("-") if code != "en")
    if lab.scale == "tiny" or language not in _LANGUAGES:  # 1, 2
        return None, False
    path = prepared_pairs(lab, language) / _PARQUET
    source = {"path": path, "source_language": "en", "target_language": language}
    return source, pair in _FROM_OTHER_TO_ENGLISH  # 3


def dictionaries(lab: Lab) -> list[dict[str, str]]:
    """Return the dictionaries from English that ALIGN-MLM trains on, as a recipe's sources; Romanian has none."""
    sources = []
    for code in lab.at(("de", "es", "hi"), ("de", "es", "fr", "hi", "zh"), ("de", "es", "fr", "hi", "zh")):
        if lab.scale == "tiny":
            path = languages.copy_of_world(lab, code) / f"{code}/text/lexicon.txt"
        else:
            path = f"{DATA}/lexicon/muse.en-{code}.txt"
        sources.append({"path": path, "target_language": code})
    return sources


def languages_of_task(lab: Lab, name: str) -> Sequence[str]:
    """Return the languages in which a task of the transfer table is measured, or the language pairs of the lexicon."""
    if lab.scale == "tiny" and name not in _WITHOUT_FINE_TUNING:
        return languages_of_bitext(lab)
    return _TASK_LANGUAGES[name]


def task_of(lab: Lab, name: str) -> StudyTask:
    """Return a task of the transfer table with its data and its settings of fine-tuning."""
    codes = languages_of_task(lab, name)
    if name in _WITHOUT_FINE_TUNING:
        absent = "not in the miniature world" if lab.scale == "tiny" else ""
        kind, path = _WITHOUT_FINE_TUNING[name]
        return StudyTask(kind, [f"{DATA}/{path}"], codes, options={"layer": 8}, unavailable=absent)
    kind = _KINDS[name]
    data = languages.task_data(lab, kind, codes) if lab.scale == "tiny" else languages.real_data(kind)
    train = languages.tuning(lab, _SIZE_GROUPS[name], warmup=0.1, select="last")
    return StudyTask(kind, data, codes, train=train)
