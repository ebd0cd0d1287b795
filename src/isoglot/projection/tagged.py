"""Tags of words: parts of speech and named entities, read from tagged files and written as `word<TAB>tag`."""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from isoglot.aligners.alignment import PairLinks
from isoglot.corpus.encode.words import WordMode, split_words
from isoglot.corpus.labelled.tags import UNLABELLED, UPOS, check_tag, tagged_rows
from isoglot.corpus.read.line_files import each, numbered_lines
from isoglot.corpus.read.sources import bare_suffix
from isoglot.projection.rule import ProjectedSpan, project_tags
from isoglot.projection.units import LabelKind, Unit
from isoglot.tasks.metrics.chunks import chunks


class TaggedWords(LabelKind):
    """Sentences of tagged words, and their translations as words or as lines of text."""

    @property
    def treebank(self) -> bool:
        """Whether the translation has words of its own."""
        return bare_suffix(str(self.translation)) == ".conllu"

    def units(self) -> Iterator[Unit]:
        """One unit per sentence."""
        for (words, tags), translation in self.paired(zip_longest(self._labelled(), self._translated())):
            yield Unit(words, translation, tags)

    def text(self, unit: Unit, found: PairLinks) -> str:
        """The words with their tags; a sentence without a translation, or without any tag, is left out."""
        self.counts.examples += 1
        length = len(unit.target)
        if self.request.kind == "pos":
            tags = [tag or UNLABELLED for tag in project_tags(unit.labels, found, length)]
        else:
            spans = [(kind, (a, b + 1)) for kind, a, b in chunks(unit.labels, _entity_type) if kind]
            projected = self.projected([words for _, words in spans], found, length)
            own = entity_tags([kind for kind, _ in spans], projected, found, length, self.request.uncertain)
            if own is None:
                return ""
            tags = own
            if UNLABELLED in unit.labels and self.request.uncertain != "outside":
                carried = zip(tags, project_tags(unit.labels, found, length), strict=True)
                tags = [UNLABELLED if both == ("O", UNLABELLED) else both[0] for both in carried]
        if set(tags) <= {UNLABELLED} or (UNLABELLED in tags and self.request.uncertain == "drop"):
            return ""
        words: Sequence[str] = unit.target
        if self.request.kind == "ner" and not self.treebank:
            words, tags = by_character(words, tags, self.request.words)
        self.counts.add_tags(tags)
        if bare_suffix(str(self.out)) == ".jsonl":
            return json.dumps({"words": words, "tags": tags}, ensure_ascii=False) + "\n"
        return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) + "\n"

    def _labelled(self) -> Iterator[tuple[list[str], list[str]]]:
        asked = self.request
        allowed = asked.allowed or (UPOS if asked.kind == "pos" else None)
        language, name, surface = asked.source_language, asked.format, asked.written
        for _, rows in tagged_rows(self.labels, language=language, name=name, surface=surface):
            each(lambda row: check_tag(row[1], allowed), rows, self.labels)
            yield [word for _, (word, _) in rows], [tag for _, (_, tag) in rows]

    def _translated(self) -> Iterator[Sequence[str]]:
        if not self.treebank:
            return (self.cut(line).words for _, line in numbered_lines(self.translation))
        language = self.request.target_language or "und"
        found = tagged_rows(self.translation, language=language, surface=self.request.written)
        return ([word for _, (word, _) in rows] for _, rows in found)


def entity_tags(
    kinds: Sequence[str], projected: Sequence[ProjectedSpan], found: PairLinks, length: int, uncertain: str
) -> list[str] | None:
    """IOB2 tags of a translation; none if it is left out.

    A word that an earlier span has keeps that span's tag. Where a span was split, the words of the pieces that were not
    kept are uncertain; where one was lost, all words without a link are, for one of them may be it.
    """
    changed = [span for span in projected if span.fate in ("lost", "split")]
    if changed and uncertain == "drop":
        return None
    tags = ["O"] * length
    for kind, span in zip(kinds, projected, strict=True):
        first, stop = span.words or (0, 0)
        if first < stop and all(tag == "O" for tag in tags[first:stop]):
            tags[first:stop] = [f"B-{kind}", *[f"I-{kind}"] * (stop - first - 1)]
    if changed and uncertain == "blank":
        doubtful = {word for span in changed for word in span.cut}
        if any(span.fate == "lost" for span in changed):
            doubtful |= set(range(length)) - {target for _, target in found.links}
        tags = [UNLABELLED if n in doubtful and tag == "O" else tag for n, tag in enumerate(tags)]
    return tags


def by_character(words: Sequence[str], tags: Sequence[str], mode: WordMode) -> tuple[list[str], list[str]]:
    """Pieces of Chinese, Japanese and the like as characters, which are the words of their entity data (WikiANN).

    Example:
        >>> by_character(["北京", "is"], ["B-LOC", "O"], "unicode")
        (['北', '京', 'is'], ['B-LOC', 'I-LOC', 'O'])
    """
    pairs = [
        (part, f"I-{tag[2:]}" if n and tag.startswith("B-") else tag)
        for word, tag in zip(words, tags, strict=True)
        for n, part in enumerate(split_words(word, mode=mode))
    ]
    return [word for word, _ in pairs], [tag for _, tag in pairs]


def _entity_type(tag: str) -> str:
    return tag.partition("-")[2]
