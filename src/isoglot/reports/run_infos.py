"""Collect what is known of each run of a report: its encoder, folder, seeds and versions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoglot.reports.scores import Combination, row_labels, run_label
from isoglot.results.rows import Result
from isoglot.runs.folder import CHECKPOINT

_HASH = re.compile("[0-9a-f]{16}")
"""The hash of an encoder, as records have it."""


@dataclass(frozen=True)
class RunInfo:
    """A run as its folder describes it."""

    name: str
    run: str = ""  # the run's own name, without the options by which evaluations of it differ
    encoder: str = ""  # the model that training started from; empty if not recorded
    encoder_hash: str = ""  # of the encoder's weights; empty for new weights, and for an encoder of the hub
    folder: str = ""
    seeds: tuple[int, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    results: int = 0  # rows of results

    @property
    def start(self) -> str:
        """The encoder with the first digits of its hash."""
        return f"{self.encoder} ({self.encoder_hash[:8]})" if self.encoder_hash else self.encoder


def run_infos(
    rows: Sequence[Result], records: Sequence[Mapping[str, Any]], combinations: Sequence[Combination]
) -> dict[str, RunInfo]:
    """Collect what is known of each run, and of each combination of runs that are shown as one row.

    ``records``: What runs record of themselves; of several with one hash or one name the last one counts.
    """
    record_of_hash = {r["recipe_hash"]: r for r in records if r.get("recipe_hash")}
    record_of_name = {r["name"]: r for r in records if r.get("name")}
    rows_of: dict[str, list[Result]] = {}
    for row, label in zip(rows, row_labels(rows), strict=True):
        rows_of.setdefault(label, []).append(row)
    members_of = {label: [label] for label in rows_of}
    for combination in combinations:
        models = dict.fromkeys(combination.models.values())
        members_of[combination.name] = [run for run in models if run in rows_of]
    infos = {}
    for name, members in members_of.items():
        if not members:
            continue
        member_records = []
        for member in members:
            # The record with a recipe hash that a row has; else the one of the run's name; else nothing is known.
            record = record_of_name.get(run_label(rows_of[member][0]), {})
            for row in rows_of[member]:
                if row.recipe_hash in record_of_hash:
                    record = record_of_hash[row.recipe_hash]
                    break
            member_records.append(record)
        # An encoder is named only if all members started from the same one.
        encoders = set(map(_encoder, member_records))
        # A record's `encoder` is the hash of the encoder's weights; of an encoder of the hub it is the name, which
        # `_HASH` rejects.
        hashes = {str(record.get("encoder") or "") for record in member_records}
        encoder_hash = hashes.pop() if len(hashes) == 1 else ""
        versions = member_records[0].get("versions")
        folders = (str(record["folder"]) for record in member_records if record.get("folder"))
        member_rows = [row for member in members for row in rows_of[member]]
        infos[name] = RunInfo(
            name=name,
            run=name if len(members) > 1 else run_label(rows_of[members[0]][0]),
            encoder=encoders.pop() if len(encoders) == 1 else "",
            encoder_hash=encoder_hash if _HASH.fullmatch(encoder_hash) else "",
            folder=", ".join(dict.fromkeys(folders)),
            seeds=tuple(sorted({row.seed for row in member_rows if row.seed is not None})),
            versions=versions if isinstance(versions, Mapping) else {},
            results=len(member_rows),
        )
    return infos


def _encoder(record: Mapping[str, Any]) -> str:
    """Name the model that a run's recipe starts from; of a folder the last part that is not ``checkpoint``."""
    model = (record.get("values") or {}).get("model") or {}
    if not model.get("path"):
        return f"{model['architecture']} from scratch" if model.get("architecture") else ""
    path = Path(str(model["path"]))
    if not path.is_absolute():
        return str(model["path"])
    return path.parent.name if path.name == CHECKPOINT else path.name
