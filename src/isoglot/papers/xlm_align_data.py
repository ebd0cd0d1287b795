"""XLM-Align's data at each scale: text in many languages, gold links, and the tasks of XTREME."""

from typing import Any

from isoglot.papers import languages
from isoglot.papers.languages import CORPORA, DATA, gold_links
from isoglot.studies import Lab, StudyTask, paper_table

COPIES = ("de", "es", "fr", "hi", "zh")
"""Languages beside English that have data at scales tiny and small."""
_TABLES = {"pos": 13, "ner": 14, "xquad": 15, "mlqa": 16, "tydiqa": 17, "xnli": 18, "pawsx": 19}
"""Tasks with the number of the paper's table by language."""
_TEXT = (  # languages of Tables 8 and 9
    "af am ar as az ba be bg bn ca ckb cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka "
    "kk km kn ko ky la lo lt lv mk ml mn mr ms mt my ne nl nn no or pa pl ps pt ro ru sa sd si sk sl sq sr sv sw ta te "
    "tg th tl tr tt ug uk ur uz vi yi zh"
)
_OPTIONS = {  # scale paper
    "pos": {"words": "written"},  # as XTREME's data have them
    "pawsx": {"untranslated": "keep"},  # XTREME counts them
}
_SMALL = {  # languages with data, scale small
    "pos": ("en", "de", "es", "fr", "hi", "zh"),
    "ner": ("en", "de", "es", "fr"),
    "xnli": ("en", "de", "es"),
    "xquad": ("en", "de", "es", "hi", "zh"),
    "mlqa": ("en", "de", "es", "hi", "zh"),
}
_ABSENT = {"tydiqa": "no TyDiQA here", "pawsx": "no English training pairs here"}
"""Tasks without data at scale small, with the reason."""


def gold_pairs(lab: Lab) -> dict[str, str]:
    """Return the language pairs of Table 2 that have gold links at this scale, with the names of their files.

    Real gold links of ``en-de`` are from German to English: their file is called ``de-en``.
    """
    if lab.scale == "tiny":
        return {"en-de": "en-de", "en-fr": "en-fr", "en-hi": "en-hi"}
    names = {"en-de": "de-en", "en-fr": "en-fr", "en-hi": "en-hi"}
    if lab.scale == "paper":
        names["en-ro"] = "ro-en"
    return names


def gold_file(lab: Lab, pair: str) -> str:
    """Return the file of gold links with this name, or a template of all such files for ``{language}``."""
    if lab.scale == "tiny":
        return gold_links(lab, ("de", "fr", "hi")) / f"{pair}.jsonl"
    return f"{lab.at('', DATA, CORPORA)}/wordalign/{pair}.jsonl"


def text_sources(lab: Lab) -> list[dict[str, Any]]:
    """Return text in all languages, as a recipe's sources; English is one side of the first language's bitext."""
    if lab.scale == "paper":
        return [{"path": f"{CORPORA}/text.{code}.txt", "language": code} for code in _TEXT.split()]
    codes = lab.at(("es", "de", "fr", "hi", "zh"), COPIES, ())
    return [languages.side(lab, codes[0], "en"), *(languages.side(lab, code, code) for code in codes)]


def task_of(lab: Lab, kind: str) -> StudyTask:
    """Return a task with its data and its settings of fine-tuning, in all languages that it has at this scale."""
    if lab.scale == "paper":
        columns = paper_table(f"xlm_align:Table{_TABLES[kind]}").columns
        spoken = list(dict.fromkeys(column.language for column in columns if column.language))
        # Languages without development data: they cannot help to choose a checkpoint.
        lacking = {"pos": ("kk", "th", "tl", "yo"), "xquad": spoken[1:]}.get(kind, ())
        chosen_by = [code for code in spoken if code not in lacking]
        train: dict[str, Any] = {"bucket": lab.size["bucket"], "select_languages": chosen_by}
        return StudyTask(
            kind,
            languages.task_data(lab, kind),
            spoken,
            preset="xlm_align",
            train=train,
            options=_OPTIONS.get(kind, {}),
        )
    if lab.scale == "small" and kind in _ABSENT:
        return StudyTask(kind, unavailable=_ABSENT[kind])
    group = {"pos": "tag", "ner": "tag", "xnli": "pair", "pawsx": "pair"}.get(kind, "question")
    train = languages.tuning(lab, group, warmup=0.1, select="last")
    spoken = ["en", *COPIES] if lab.scale == "tiny" else list(_SMALL[kind])
    return StudyTask(kind, languages.task_data(lab, kind, COPIES), spoken, preset="xtreme", train=train)
