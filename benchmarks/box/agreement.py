"""Links of every language beside an HMM's, on sentences that no training saw: how far two kinds of aligners agree.

    python agreement.py DATA MODEL... [--count 200] [--languages XX...]

The HMM learns from the pairs that may teach (4,000 at most) and from those that LASER's Tatoeba sets hold out; COUNT of
the latter are aligned by all. Printed is the alignment error (%) with the HMM's intersected links as gold links. It
says where an aligner is lost, not how good it is: a perfect one has the HMM's own error.
"""

import argparse
import random
from pathlib import Path

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import kept_choice, untuned
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.scoring import score
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words
from pairs import aligned, cut, rows, taught
from retrieval import held_out

UNTUNED = {"method": "softmax", "layer": 8}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--languages", nargs="*", default=[])
    options = parser.parse_args()
    aligners = []
    for model in options.models:
        choice = kept_choice(model) or {**UNTUNED, **untuned(UNTUNED)}
        aligners.append(
            EmbeddingAligner(model, options=EmbeddingOptions.build(**{**choice, "dtype": "bfloat16"}))
        )
    tokenizer = load_tokenizer(options.models[0])
    print("language | pairs |", " | ".join(options.models))
    for language, path in taught(options.data, options.languages):
        if not (tests := list(zip(*held_out(path, options.count), strict=True))):
            continue
        lessons = list(rows(path))
        lessons = random.Random(f"0 {language}").sample(lessons, min(4000, len(lessons)))
        words = [(split_words(english), cut(tokenizer, text, language)) for english, text in tests + lessons]
        pairs = aligned([pair for pair in words if all(pair)])[: len(tests)]
        gold = [SentencePair.of_gold([(i, j) for i, j in pair["links"]]) for pair in pairs]
        errors = []
        for aligner in aligners:
            answers = aligner.align_pairs([(pair["source"], pair["target"]) for pair in pairs])
            errors.append(score([Alignment(frozenset(answer.links)) for answer in answers], gold).aer)
        print(language, "|", len(pairs), "|", " | ".join(f"{error:.1f}" for error in errors), flush=True)


if __name__ == "__main__":
    main()
