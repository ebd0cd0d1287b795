"""Links of running Chinese and Japanese: characters by themselves, as the pieces that they stand in, and gold words.

    python running_text.py DATA [--model box] [--pairs 300]

PUD's gold links of words become links of their characters, and so do the links found. As in the development figures,
only links count that touch an English word or a character with a gold link, for PUD links content words alone.
"""

import argparse
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.gold import gold_pairs
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import Encoder
from isoglot.aligners.scoring import score
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words
from measure import content


def by_character(found: SentencePair, words: list[str]) -> set[tuple[int, int]]:
    """Links of target words as links of their characters in the words joined."""
    places = [range(*ends) for ends in pairwise(accumulate(map(len, words), initial=0))]
    return {(i, character) for i, j in found.links for character in places[j]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=300)
    given = parser.parse_args()
    chosen = aligner_request(**({} if given.model is None else {"model": given.model}))
    assert isinstance(chosen, Encoder)
    aligner = EmbeddingAligner(chosen.model, options=chosen.options)
    for language in ("zh", "ja"):
        pairs = gold_pairs(given.data / f"wordalign/en-{language}.pud.jsonl")
        sides = [
            (list(source), list(target)) for source, target in (pair.words for pair in pairs[: given.pairs])
        ]
        gold = [
            SentencePair.of_gold(*[by_character(SentencePair(links=sorted(own.possible)), target)] * 2)
            for own, (_, target) in zip(pairs, sides, strict=False)
        ]
        texts = [(" ".join(source), "".join(target)) for source, target in sides]
        cut = [(source, split_words(text)) for (source, _), (_, text) in zip(sides, texts, strict=True)]
        ways: dict[str, tuple[Iterator[SentencePair], list[list[str]]]] = {
            "characters": (aligner.align_pairs(cut), [words for _, words in cut]),
            "pieces": (align_running(aligner, map(SentencePair, texts, cut)), [words for _, words in cut]),
            "gold words": (aligner.align_pairs(sides), [words for _, words in sides]),
        }
        for name, (links, words) in ways.items():
            by_characters = (by_character(own, target) for own, target in zip(links, words, strict=True))
            found = score([content(own, right) for own, right in zip(by_characters, gold, strict=True)], gold)
            rates = {"error": found.aer, "precision": found.precision, "recall": found.recall}
            shown = "  ".join(f"{rate} {value:.1f}" for rate, value in rates.items())
            print(f"{language}  {name:10}  {shown}", flush=True)


if __name__ == "__main__":
    main()
