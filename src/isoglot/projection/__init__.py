"""Labels carried over word links: a labelled text and its translation in, the translation with the labels out.

The words of this room, each for one thing:

- *range*: two numbers, those of the first word (or character) and of the one after the last.
- *span*: words that carry one label: an entity, an answer, the words between two tags.
- *fate*: what became of a span: ``whole``, ``shortened``, ``split`` or ``lost``.
- *gap*: words inside a span that no link reaches; the option ``gap`` says how many are filled in.
- *mark*: a word without a letter or digit.
- *line*: one segment with inline tags; its translation has none yet.
- *element*: a tag that stands alone, or a pair of tags with what is between them. Its *parent* is the element that
  holds it, or the line.
- *extent*: the words of an element in the source.
- *boundary*: a place between two words, by the number of the word behind it.
- *position*: a boundary, or a place inside a word.
- *slot*: a place for white space before or behind a tag.
"""
