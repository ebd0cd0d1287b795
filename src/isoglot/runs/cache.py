"""The cache folder, for files that isoglot can make again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of prepared corpora, tokenizers, streams and hashes.

    The folder is ``ISOGLOT_CACHE``, or `isoglot` in the cache of the library `datasets`.
    """
    variable = os.environ.get("ISOGLOT_CACHE")
    if variable:
        return Path(variable).expanduser()
    # The rule by which `datasets` finds its cache, written again because the library takes a second to import.
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", f"{caches}/huggingface")
    return Path(os.environ.get("HF_DATASETS_CACHE", f"{home}/datasets")).expanduser() / "isoglot"
