"""Corpora of a few lines, and what an encoded stream says of them."""

from datasets import Dataset

from isoglot.corpus.encode.store import stream_manifest
from isoglot.formats.schema import ALIGNED
from isoglot.formats.words import split_words


def stream_words(corpus, stream, index):
    """The words that an example's word ids count, read back from the corpus that it was made from."""
    row = corpus[int(stream[index]["row"])]
    sides = {"source": "source_words", "target": "target_words"} if "source" in row else {"text": "words"}
    return {
        given: list(row[given]) if row.get(given) is not None else split_words(row[text], mode="unicode")
        for text, given in sides.items()
    }


def text_corpus(*texts, language="en"):
    return Dataset.from_dict({"text": list(texts), "language": [language] * len(texts)})


def aligned_corpus(*rows):
    """Rows of (source, target, source words, target words, links)."""
    columns = {
        "source": [r[0] for r in rows],
        "target": [r[1] for r in rows],
        "source_language": ["en"] * len(rows),
        "target_language": ["de"] * len(rows),
        "source_words": [r[2] for r in rows],
        "target_words": [r[3] for r in rows],
        "links": [r[4] for r in rows],
    }
    return Dataset.from_dict(columns, features=ALIGNED)


def counts(stream):
    return stream_manifest(stream)["counts"]
