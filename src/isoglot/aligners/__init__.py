"""Word aligners: sentence pairs in, the same pairs with links between their words out.

    pairs in files ─> PairsInFiles ─┐
                                    ├─> an Aligner ─> pairs with links ─> output.py ─> lines, TMX or a corpus
    pairs in memory ────────────────┘   load_aligner.py decides which

Read ``aligner.py`` first: it says what an aligner is. ``api.py`` has the functions of Python (``align``,
``align_many``), ``align_file.py`` is ``isoglot align``; both ask ``load_aligner.py``. Links are made by an encoder
(``embedding/``), by counts of the whole text (``statistical/``) or by a user's class (``plugin.py``).
``with_encoder.py`` and ``with_statistics.py`` fit the first two to what a verb needs; ``in_parts.py`` keeps their
work, so that a stopped run can go on. ``scoring.py`` compares links with gold links, ``tuning.py`` chooses an
encoder's layer and method by ``embedding/score_layers.py``.

The words of this room, each for one thing:

- *pair*: a sentence and its translation, a ``SentencePair``. A *phrase pair* or *pair of words* is named in full.
- *link*: two words that translate each other, ``(source word, target word)``, counted from 0.
- *probability*: how sure the aligner is of a link; of some methods a *similarity*, which only orders links. eflomal and
  some classes of users give none; ``probabilities`` of a pair is empty then, though the pair has links.
- *score*: of a pair, the mean over its words of the best probability among a word's links.
- *gold links*: links that people made: *sure* ones, and *possible* ones, among which the sure ones are.
- *piece*: what a tokenizer cuts a word into. A *unit* is a word, or the piece that takes the place of single characters
  of scripts without spaces.
- *word mode*: how text is cut into words, ``whitespace`` (tokenised text) or ``unicode`` (running text). The option and
  the attribute of an aligner that name it are called ``words``, the argument of functions that cut text ``mode``.
- *window*: so many consecutive pairs that are linked at a time, to save memory. A *block* is a window of pairs whose
  links are kept beside the output, so that a stopped run can go on. The store (``Parts``), the option ``part_pairs``
  and the name ``in_parts.py`` call a block a *part*; in ``statistical/`` a part is something else.
- *corpus*: a ``datasets.Dataset``, or its folder. BITEXT has the columns of pairs without links, ALIGNED those with
  words and links (``formats/schema.py``).
- *direction*: an alignment in which one side's words are linked to at most one word of the other side each.
- *table*: the links of many pairs as flat arrays, a ``LinkTable``.
- *request*: an aligner and its options, checked, and nothing loaded (``options.py``).
- *format*: how links are written, such as ``pharaoh``. The flag is ``--format``, the option in Python
  ``LinkFormat.output``. ``form`` is a whole ``LinkFormat``, with the base and the order of the sides.
"""
