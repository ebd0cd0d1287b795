"""Tags of words: parts of speech and named entities, read from tagged files and written as `word<TAB>tag`."""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from isoglot.formats.labelled.tags import UNLABELLED, UPOS, check_tag, tagged_rows
from isoglot.formats.line_files import each, numbered_lines
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import bare_suffix
from isoglot.formats.words import WordMode, split_words
from isoglot.projection.labels import LabelKind, LabelledPair
from isoglot.projection.rule import ProjectedSpan, project_word_tags
from isoglot.tasks.metrics.chunks import chunks


class TaggedWords(LabelKind):
    """Sentences of tagged words, and their translations as words or as lines of text."""

    @property
    def treebank(self) -> bool:
        """Whether the translation has words of its own."""
        return bare_suffix(str(self.translation)) == ".conllu"

    def pairs(self) -> Iterator[LabelledPair]:
        """One pair per sentence, labelled with its tags."""
        options = self.options
        allowed = options.allowed or (UPOS if options.kind == "pos" else None)
        sentences = tagged_rows(
            self.labels, language=options.source_language, name=options.format, surface=options.written
        )
        translations: Iterator[Sequence[str]]
        if self.treebank:
            language = options.target_language or "und"
            tagged = tagged_rows(self.translation, language=language, surface=options.written)
            translations = ([word for _, (word, _) in rows] for _, rows in tagged)
        else:
            translations = (self.cut(line)[0] for _, line in numbered_lines(self.translation))
        for (_, rows), translated in self.paired(zip_longest(sentences, translations)):
            each(lambda row: check_tag(row[1], allowed), rows, self.labels)
            words, tags = zip(*(row for _, row in rows), strict=True)
            yield LabelledPair(words=(words, translated), line=rows[0][0], labels=tags)

    def carried(self, pair: LabelledPair) -> str:
        """The words with their tags; a sentence without a translation, or without any tag, is left out."""
        self.counts.examples += 1
        words, options = pair.target_words, self.options
        labels = project_word_tags(pair.labels, pair, len(words))
        if options.kind == "pos":
            tags = [tag or UNLABELLED for tag in labels]
        else:
            spans = chunks(pair.labels, lambda tag: tag.partition("-")[2])
            entities = [(kind, (first, last + 1)) for kind, first, last in spans if kind]
            projected = self.project([span for _, span in entities], pair)
            iob2 = entity_tags([kind for kind, _ in entities], projected, pair, options.uncertain)
            if iob2 is None:
                return ""
            tags = iob2
            if options.uncertain != "outside":
                both = zip(tags, labels, strict=True)
                tags = [UNLABELLED if (tag, label) == ("O", UNLABELLED) else tag for tag, label in both]
        if set(tags) <= {UNLABELLED} or (UNLABELLED in tags and options.uncertain == "drop"):
            return ""
        if options.kind == "ner" and not self.treebank:
            words, tags = by_character(words, tags, options.words)
        self.counts.add_tags(tags)
        if bare_suffix(str(self.out)) != ".jsonl":
            return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) + "\n"
        language = {"language": options.target_language} if options.target_language else {}
        return json.dumps({"words": words, "tags": tags, **language}, ensure_ascii=False) + "\n"


def entity_tags(
    kinds: Sequence[str], projected: Sequence[ProjectedSpan], pair: SentencePair, uncertain: str
) -> list[str] | None:
    """IOB2 tags of a translation; none if it is left out.

    A word that an earlier span has keeps that span's tag. Where a span was split, the words of the pieces that were not
    kept are uncertain; where one was lost, all words without a link are, for one of them may be it.
    """
    changed = [span for span in projected if span.fate in ("lost", "split")]
    if changed and uncertain == "drop":
        return None
    tags = ["O"] * len(pair.target_words)
    for kind, span in zip(kinds, projected, strict=True):
        first, stop = span.words or (0, 0)
        if first < stop and all(tag == "O" for tag in tags[first:stop]):
            tags[first:stop] = [f"B-{kind}", *[f"I-{kind}"] * (stop - first - 1)]
    if changed and uncertain == "blank":
        doubtful = {word for span in changed for word in span.cut}
        if any(span.fate == "lost" for span in changed):
            doubtful |= set(range(len(tags))) - {target for _, target in pair.links}
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
