"""Corpora: raw files to plain data sets with a named schema, and those to encoded streams.

What is listed here is loaded when first asked for: the worker processes of `prepare` import this package too, and must
start without torch and transformers. The verbs live in modules of their own name:
``from isoglot.corpus.prepare import prepare``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoglot.corpus.manifest import load_corpus
    from isoglot.corpus.options import PrepareOptions
    from isoglot.corpus.read.readers import read
    from isoglot.corpus.read.sources import Source, sources_from

__all__ = ["PrepareOptions", "Source", "load_corpus", "read", "sources_from"]

_MODULES = {
    "PrepareOptions": "options",
    "Source": "read.sources",
    "load_corpus": "manifest",
    "read": "read.readers",
    "sources_from": "read.sources",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
