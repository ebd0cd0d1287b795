"""Gold word links for studies: by construction, from corpora that ``isoglot derive`` made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from isoglot.errors import ConfigurationError
from isoglot.runs.files import write_text
from isoglot.runs.reporter import Reporter
from isoglot.studies.data import DataMaker

__all__ = ["GoldData", "write_gold"]


class GoldData(DataMaker):
    """ALIGNED corpora as gold alignments: JSON lines with ``src``, ``tgt``, ``sure`` and ``possible``.

    Args:
        corpora: name of the file (``en-de``: ``en-de.jsonl``) -> ALIGNED corpus. All its links are sure.
        limit: take the first so many sentence pairs of each.

    Fact: ``pairs``.
    """

    corpora: Annotated[dict[str, str], Field(min_length=1)]
    limit: Annotated[int, Field(ge=1)] = 400

    def write(self, folder: Path, report: Reporter) -> dict[str, int]:
        """Write a file each.

        Raises:
            ConfigurationError: a corpus without sentence pairs.
        """
        total = 0
        for name, path in self.corpora.items():
            pairs = write_gold(path, folder / f"{name}.jsonl", limit=self.limit)
            if not pairs:
                raise ConfigurationError(
                    f"make: GoldData: {path} holds no sentence pair; name another corpus"
                )
            report.note(f"{name}: gold links of {pairs:,} pairs")
            total += pairs
        return {"pairs": total}


def write_gold(corpus: str | Path, out: Path, *, limit: int) -> int:
    """Write the first ``limit`` pairs of an ALIGNED corpus as gold alignments, all links sure; how many there were."""
    from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415 - loads the library

    aligned = load_corpus(corpus)
    rows = aligned.select(range(min(limit, len(aligned))))
    lines = [
        {"id": str(number), "src": row["source_words"], "tgt": row["target_words"],
         "sure": sorted(row["links"]), "possible": []}
        for number, row in enumerate(rows, 1)
    ]  # fmt: skip
    if lines:
        write_text(out, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    return len(lines)
