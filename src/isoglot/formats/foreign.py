"""Files of other programs, which have to be exported: spreadsheets, localisation files, whole JSON documents."""

from isoglot.runs.files import bare_suffix

_TIKAL = "Okapi's Tikal (`tikal -2tmx {path} -sl en -tl de`)"
_SHEET = "save it as CSV UTF-8, or export it as .tsv, from the program that shows it"
_EXPORTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), f"is a spreadsheet; {_SHEET}"),
    **dict.fromkeys(
        (".xlf", ".xliff", ".mxliff", ".mqxliff"),
        f"is XLIFF; export TMX with {_TIKAL}, or with the Translate Toolkit "
        "(`xliff2po {path} file.po && po2tmx -l de file.po file.tmx`)",
    ),
    ".sdlxliff": f"is XLIFF of Trados; export TMX from Trados, or with {_TIKAL}",
    ".sdltm": "is a translation memory of Trados; export TMX from Trados",
    ".po": f"is gettext; export TMX with the Translate Toolkit (`po2tmx -l de {{path}} file.tmx`) or {_TIKAL}",
    ".tbx": "is a term base; export CSV from the program that wrote it, or convert it with the Translate "
    "Toolkit (`tbx2po {path} file.po && po2csv file.po file.csv`)",
    ".json": "is JSON; write one object per line (`jq -c '.[]' {path} > file.jsonl`), or call it .jsonl if its lines "
    "are objects",
    **dict.fromkeys(
        (".docx", ".doc", ".pdf", ".odt", ".html", ".xml"),
        "is a document; save its sentences as text, one per line",
    ),
}
"""Why a file of each ending is not read, and what to export with what."""


def foreign(path: str) -> str | None:
    """Why a file cannot be read by its name, and what to do; None for others."""
    reason = _EXPORTS.get(bare_suffix(path))
    return None if reason is None else f"{path}: {reason.replace('{path}', path)}"
