"""Tags of words: parts of speech and named entities, read from tagged files and written as `word<TAB>tag`."""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from isoglot.formats.labelled.tags import UNLABELLED, UPOS, check_tag, tagged_rows
from isoglot.formats.line_files import each, numbered_lines
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode, split_words
from isoglot.projection.labels import LabelKind, LabelledPair
from isoglot.projection.rule import ProjectedSpan, project_word_tags
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import JSON_LINES
from isoglot.tasks.metrics.chunks import chunks


class TaggedWords(LabelKind):
    """Sentences of tagged words, and their translations as words or as lines of text."""

    @property
    def is_cut_already(self) -> bool:
        """Whether the translation is a treebank, which has words of its own."""
        return bare_suffix(str(self.translation_path)) == ".conllu"

    def pairs(self) -> Iterator[LabelledPair]:
        """Yield one pair per sentence, labelled with its tags."""
        options = self.options
        allowed = options.allowed or (UPOS if options.kind == "pos" else None)
        sentences = tagged_rows(
            self.labels_path, language=options.source_language, name=options.format, surface=options.written
        )
        for (_, rows), target_words in self.paired(zip_longest(sentences, self._translations())):
            # `rows` has for each word its line and (word, tag); `each` passes the second to the function.
            each(lambda row: check_tag(row[1], allowed), rows, self.labels_path)
            words, tags = zip(*(row for _, row in rows), strict=True)
            yield LabelledPair(words=(words, target_words), line=rows[0][0], labels=tags)

    def _translations(self) -> Iterator[Sequence[str]]:
        """Yield the words of each sentence of the translation."""
        options = self.options
        if self.is_cut_already:
            language = options.target_language or "und"
            for _, rows in tagged_rows(self.translation_path, language=language, surface=options.written):
                yield [word for _, (word, _) in rows]
        else:
            for _, line in numbered_lines(self.translation_path):
                yield self.cut(line)[0]

    def carried(self, pair: LabelledPair) -> str:
        """Write the words with their tags; a sentence without a translation or without a labelled word is left out."""
        self.counts.examples += 1
        options = self.options
        words: Sequence[str] = pair.target_words
        tags = self._part_of_speech_tags(pair) if options.kind == "pos" else self._entity_tags(pair)
        if tags is None or set(tags) <= {UNLABELLED} or (UNLABELLED in tags and options.uncertain == "drop"):
            return ""
        if options.kind == "ner" and not self.is_cut_already:
            words, tags = by_character(words, tags, options.words)
        self.counts.add_tags(tags)
        if bare_suffix(str(self.out)) not in JSON_LINES:
            return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) + "\n"
        language = {"language": options.target_language} if options.target_language else {}
        return json.dumps({"words": words, "tags": tags, **language}, ensure_ascii=False) + "\n"

    def _part_of_speech_tags(self, pair: LabelledPair) -> list[str]:
        """Tag each target word by its links; without a link it is unlabelled."""
        projected = project_word_tags(pair.labels, pair, len(pair.target_words))
        return [tag or UNLABELLED for tag in projected]

    def _entity_tags(self, pair: LabelledPair) -> list[str] | None:
        """Carry the entities of a sentence to its translation; None where the sentence is left out."""
        options = self.options
        entities = []
        for name, first, last in chunks(pair.labels, lambda tag: tag.partition("-")[2]):
            if name:  # words outside entities are chunks without a name
                entities.append((name, (first, last + 1)))
        projected = self.project([span for _, span in entities], pair)
        tags = entity_tags([name for name, _ in entities], projected, pair, options.uncertain)
        if tags is None or options.uncertain == "outside":
            return tags
        # A source word can be unlabelled itself; the words linked to it are not outside an entity, but unknown.
        by_word = project_word_tags(pair.labels, pair, len(pair.target_words))
        for number, source_tag in enumerate(by_word):
            if tags[number] == "O" and source_tag == UNLABELLED:
                tags[number] = UNLABELLED
        return tags


def entity_tags(
    names: Sequence[str], projected: Sequence[ProjectedSpan], pair: SentencePair, uncertain: str
) -> list[str] | None:
    """Tag a translation with IOB2; return None if it is left out.

    A word that an earlier span has keeps that span's tag. Where a span was split, the words of the pieces that were not
    kept are uncertain. Where one was lost, all words without a link are uncertain, because it may be any of them.

    ``names``: The name of each projected span, such as ``PER``.
    ``uncertain``: The option of that name: ``blank``, ``outside`` or ``drop``.
    """
    changed = [span for span in projected if span.fate in ("lost", "split")]
    if changed and uncertain == "drop":
        return None
    tags = ["O"] * len(pair.target_words)
    for name, span in zip(names, projected, strict=True):
        first, stop = span.target_range or (0, 0)
        if first < stop and all(tag == "O" for tag in tags[first:stop]):
            tags[first:stop] = [f"B-{name}", *[f"I-{name}"] * (stop - first - 1)]
    if changed and uncertain == "blank":
        uncertain_words: set[int] = set()
        for span in changed:
            uncertain_words.update(span.dropped)
        if any(span.fate == "lost" for span in changed):
            linked = {target for _, target in pair.links}
            uncertain_words |= set(range(len(tags))) - linked
        for word in uncertain_words:
            if tags[word] == "O":
                tags[word] = UNLABELLED
    return tags


def by_character(words: Sequence[str], tags: Sequence[str], mode: WordMode) -> tuple[list[str], list[str]]:
    """Cut words of Chinese, Japanese and the like into characters, the words of their entity data (WikiANN).

    Example:
        >>> by_character(["北京", "is"], ["B-LOC", "O"], "unicode")
        (['北', '京', 'is'], ['B-LOC', 'I-LOC', 'O'])
    """
    cut_words: list[str] = []
    cut_tags: list[str] = []
    for word, tag in zip(words, tags, strict=True):
        # `split_words` cuts these scripts into characters, and leaves a word of other scripts whole.
        for number, cut_word in enumerate(split_words(word, mode=mode)):
            goes_on = number > 0 and tag.startswith("B-")
            cut_words.append(cut_word)
            cut_tags.append(f"I-{tag[2:]}" if goes_on else tag)
    return cut_words, cut_tags
