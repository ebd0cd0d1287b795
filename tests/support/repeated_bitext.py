"""A bitext of six lines three times over, one of them empty."""

from __future__ import annotations

from datasets import Dataset

from isoglot.runs.listed import LIST

SOURCE = ["das kleine haus", "das buch", "ein Haus", "", "ein kleines buch liest das kind", "das kind"] * 3


TARGET = [
    "the small house",
    "the book",
    "a house",
    "nothing",
    "the child reads a small book",
    "the child",
] * 3


def bitext(source=SOURCE, target=TARGET, **columns):
    rows = len(source)
    given_columns = {"source": source, "target": target, "source_language": ["de"] * rows}
    return Dataset.from_dict({**given_columns, "target_language": ["en"] * rows, **columns})


def equal(one, other):
    assert one.links.to_pharaoh() == other.links.to_pharaoh()
    assert one.forward.to_pharaoh() == other.forward.to_pharaoh()
    assert one.reverse.to_pharaoh() == other.reverse.to_pharaoh()
    assert one.links.probability.tolist() == other.links.probability.tolist()
    assert one.score.tolist() == other.score.tolist()


def save_without_list(aligner, folder):
    """Save a model as one from elsewhere, whose files no list vouches for."""
    aligner.save(folder)
    (folder / LIST).unlink()
