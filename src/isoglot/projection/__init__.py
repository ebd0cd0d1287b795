"""Labels carried over word links: a labelled text and its translation in, the translation with the labels out.

    labelled text ──┐
                    ├─> LabelledPair ──> the pair with links ──> labels on its target words ──> file
    translation  ───┘   LabelKind.pairs  an aligner, or a file   LabelKind.carried

Read ``project.py`` first: it has this order. ``labels.py`` says what a kind of labels must do; ``tagged.py`` (parts of
speech, entities), ``offsets.py``, ``questions.py`` and ``markup.py`` are the kinds. All of them ask ``rule.py`` which
target words a span of source words becomes. Markup turns a corner after that: ``elements.py`` and ``empty_elements.py``
find a place for each element, ``tag_order.py`` the order of its tags, ``white_space.py`` the text between them.

``rule.py``, ``linked_line.py`` and ``tagged.py`` read the links of a pair. To change which links count, change those of
the pair before both calls of ``carried``: in ``_write`` (``project.py``, files) and in ``project_tags``
(``one_segment.py``, one segment).

The words of this room, each for one thing:

- *range*: two numbers, those of the first word (or character) and of the one after the last.
- *span*: words that carry one label: an entity, an answer, the words between two tags.
- *piece*: words of one span that stand together in the translation; a span that falls into several keeps one.
- *fate*: what became of a span: ``whole``, ``shortened``, ``split`` or ``lost``.
- *gap*: words between two pieces of a span; the option ``gap`` says how many are filled in.
- *mark*: a word without a letter or digit. (*Marked* text is text with tags.)
- *line*: one segment with inline tags; its translation has none yet. A *linked line* has both, and the word links.
- *element*: a tag that stands alone, or a pair of tags with the text between them. Its *parent* is the element that
  holds it, or the line. Two codes of a pair that crosses elements are two elements, each of one tag.
- *extent*: the words of an element in the source.
- *wordless*, in the source: an element whose extent has no words, such as `<br/>`.
- *empty*, in the translation: an element without words there. It is wordless, or was lost in projection.
- *boundary*: a place between two words, by the number of the word behind it.
- *position*: a boundary, or a place inside a word.
- *spans of a text*: the ranges of characters of its words, beside ``words``; no labels.
- *window*: source and target words that are aligned by themselves, such as two sentences of a context. As a pair of its
  own it is a *window pair*.
- *part* of a translation: a stretch of its text, a tag, or white space. A translation is written part by part.
- *slot*: a place for white space before or behind a tag.
"""
