"""Vecalign and Bertalign, installed in a folder of their own, on the vectors of any encoder.

    pip install --target PEERS --no-deps sentweave==0.3.3
    pip install --target PEERS --no-deps --ignore-requires-python bertalign==2.0.1

``sentweave`` contains Vecalign's ``dp_core.pyx`` and ``dp_utils.py``, whose authors publish no package, and calls them
with a function from texts to vectors. Of ``bertalign`` only ``corelib.py`` is loaded; the rest needs Python 3.12 and
loads an encoder of its own. Its two passes are called in the order and with the defaults of ``Bertalign``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.mining.vectors import SentenceEncoder, unit_vectors

Groups = list[tuple[list[int], list[int]]]
"""Numbers of source and target lines, from 0."""
Align = Callable[[SentenceEncoder, list[str], list[str], float], Groups]
PENALTIES = {"vecalign": (0.2, 0.1, 0.05, 0.02), "bertalign": (-0.1, -0.05, -0.02, 0.0, 0.02)}
"""Settings of a line without a translation: the published one first."""


def load(folder: Path) -> dict[str, Align]:
    """Both aligners of a folder."""
    # the package itself cannot be imported; its functions are compiled and cached under the name of a module
    sys.path += [str(folder), str(folder / "bertalign")]
    return {
        "vecalign": partial(_vecalign, importlib.import_module("sentweave").align),
        "bertalign": partial(_bertalign, importlib.import_module("corelib")),
    }


def _vecalign(
    align: Callable[..., Any], encoder: SentenceEncoder, source: list[str], target: list[str], penalty: float
) -> Groups:
    # 4 lines a group is the default of Vecalign's command
    found = align(source, target, encoder, alignment_max_size=4, del_percentile_frac=penalty)
    return [(group.src_indices, group.tgt_indices) for group in found.alignments]


def _bertalign(
    core: Any, encoder: SentenceEncoder, source: list[str], target: list[str], penalty: float
) -> Groups:
    runs = [
        [[" ".join(own[max(0, end - size) : end]) for end in range(1, len(own) + 1)] for size in range(1, 5)]
        for own in (source, target)
    ]
    vectors = [np.stack([unit_vectors(encoder, texts).numpy() for texts in own]) for own in runs]
    lengths = [np.array([[len(text.encode()) for text in texts] for texts in own]) for own in runs]
    sizes = len(source), len(target)
    nearest = core.find_top_k_sents(vectors[0][0], vectors[1][0], k=3)
    kinds = core.get_alignment_types(2)
    width, path = core.find_first_search_path(*sizes)
    pointers = core.first_pass_align(*sizes, width, path, kinds, *nearest)
    anchors = core.first_back_track(*sizes, pointers, path, kinds)
    kinds = core.get_alignment_types(5)
    width, path = core.find_second_search_path(anchors, 5, *sizes)
    ratio = lengths[0][0].sum() / lengths[1][0].sum()
    pointers = core.second_pass_align(
        *vectors, *lengths, width, path, kinds, ratio, penalty, margin=True, len_penalty=True
    )
    found: Groups = core.second_back_track(*sizes, pointers, path, kinds)
    return found
