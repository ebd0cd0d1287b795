"""Formats: one reader and one writer for each format of sentence pairs, text, word links and labels.

A file goes in, and sentence pairs (``sentence_pair.py``) or the columns of a corpus come out; pairs are written again:

    Source ──> chunks of a few MB ──> Fields, by role ─┬─> SentencePair ─> any verb ─> PairWriter ─> file
               one process            any process      └─> Records ─> prepared corpus

Open ``readers.py`` first: its table ``_READERS`` names the two functions of each format. ``sources.py`` has the formats
and the options of an input; ``column_plan.py`` and ``row_fields.py`` take fields out of rows; ``pair_writer.py``
chooses a writer. TMX (``tmx.py`` decides which translations are pairs; ``tmx_reader.py``, ``tmx_unit.py``,
``tmx_writer.py``), word links (``link_files.py``, where ``LINK_FORMATS`` says what a new format needs), objects in
memory (``rows.py``, ``pairs_in_memory.py``) and labels (``labelled/``) have files of their own.

The words of this room:

- *kind*: what rows are read as: text, bitext, lexicon, aligned or treebank.
- *column*: a column of the input, by name (``en``) or number. *role*: what a column is read as: source, target, links.
  *field*: the value that a row has in a role. A role is also the name of a column of the corpus.
- *flags*: an optional role of every kind but treebanks, read only if the user names its column: the evaluation sets
  that a row also stands in (``flores``), so that it can be dropped (``held_out_flags``). Kept as one text for each row.
- *chunk*: a piece of a source that can be parsed by itself. *fields*: its raw values by role, before they are checked.
- *whole*: a row is read with all its columns, so that it can be written again. *given*: the row as it was read.
- *more*: what a row says beside its two sides, by name.
- *unit*: an entry of a TMX file; *variant*: one of its translations; *pair*: two of them. ``SentencePair.unit`` is such
  a pair, a ``TmxPair``, and ``SentencePair.unit.unit`` is the unit.
- *tag*: a start tag, end tag or code inside a text; its role is to open, to close, or to stand alone. *code*: a tag
  with content of another format, which is no text.
- *base*: the number of the first word of a sentence in a file of links, 0 or 1.
"""
