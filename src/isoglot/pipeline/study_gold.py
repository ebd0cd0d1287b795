"""Gold word links for studies: by construction, from corpora that ``isoglot derive`` made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from isoglot.errors import ConfigurationError
from isoglot.pipeline.reporting import Reporter
from isoglot.pipeline.study_data import DataMaker
from isoglot.tasks.files import write_text

__all__ = ["GoldData"]


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
        from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415 - loads the library

        total = 0
        for name, path in self.corpora.items():
            corpus = load_corpus(path)
            rows = corpus.select(range(min(self.limit, len(corpus))))
            if not len(rows):
                raise ConfigurationError(
                    f"make: GoldData: {path} holds no sentence pair; name another corpus"
                )
            lines = [
                {"id": str(number), "src": row["source_words"], "tgt": row["target_words"],
                 "sure": sorted(row["links"]), "possible": []}
                for number, row in enumerate(rows, 1)
            ]  # fmt: skip
            text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            write_text(folder / f"{name}.jsonl", text)
            report.note(f"{name}: gold links of {len(rows):,} pairs")
            total += len(rows)
        return {"pairs": total}
