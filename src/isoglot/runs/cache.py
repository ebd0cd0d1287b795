"""The folder in which isoglot keeps what it can make again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where prepared corpora, tokenizers, streams and hashes are kept: ``ISOGLOT_CACHE``, or in the data-set cache."""
    variable = os.environ.get("ISOGLOT_CACHE")
    if variable:
        return Path(variable).expanduser()
    # as `datasets` finds its own, which takes a second to import
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", f"{caches}/huggingface")
    return Path(os.environ.get("HF_DATASETS_CACHE", f"{home}/datasets")).expanduser() / "isoglot"
