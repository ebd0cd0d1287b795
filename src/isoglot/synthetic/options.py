"""Options of `isoglot world`: a field is an argument in Python and a flag."""

from isoglot.options import Options, option

_ROWS = "How much (0: none)"
_MOST = 10_000_000  # all rows of a file are in memory


class WorldRequest(Options):
    """How much of what; see :class:`isoglot.synthetic.World`."""

    seed: int = option(0, "Seed of the world and of everything drawn from it.")
    size: int | None = option(None, "Number of lexemes; by default all.", ge=200)
    text: int = option(20_000, "Lines of text to train on.", group=_ROWS, ge=0, le=_MOST)
    pos: int = option(4_000, "Trees to train on.", group=_ROWS, ge=0, le=_MOST)
    ner: int = option(4_000, "Sentences with names to train on.", group=_ROWS, ge=0, le=_MOST)
    nli: int = option(12_000, "Inference pairs to train on.", group=_ROWS, ge=0, le=_MOST)
    paws: int = option(8_000, "Paraphrase pairs to train on.", group=_ROWS, ge=0, le=_MOST)
    qa: int = option(4_000, "Questions to train on.", group=_ROWS, ge=0, le=_MOST)
    dev: int = option(500, "Development rows of each kind.", group=_ROWS, ge=0, le=_MOST)
    test: int = option(1_000, "Test rows of each kind.", group=_ROWS, ge=0, le=_MOST)

    def rows(self, kind: str, split: str) -> int:
        """How many rows a file has."""
        train: int = getattr(self, kind)
        return 0 if not train else train if split == "train" else int(getattr(self, split))
