"""Formats: one reader and one writer of each, of sentence pairs, text, word links and labels.

A file goes in, sentence pairs (``sentence_pair.py``) or the columns of a corpus come out, and the way back:

    Source ──> chunks of a few MB ──> Fields, by role ─┬─> SentencePair ─> any verb ─> PairWriter ─> file
               one process            any process      └─> Records ─> prepared corpus

Open ``readers.py`` first: its table ``_FORMATS`` names the two functions of each format. ``sources.py`` says what can
be read; ``column_plan.py`` and ``row_fields.py`` take fields out of rows; ``pair_writer.py`` chooses a writer. TMX
(``tmx.py`` which translations are pairs, ``tmx_reader.py``, ``tmx_unit.py``, ``tmx_writer.py``), word links
(``link_files.py``), objects in memory (``rows.py``, ``pairs_in_memory.py``) and labels (``labelled/``) have files of
their own.

The words of this room:

- *kind*: what rows are read as: text, bitext, lexicon, aligned or treebank. *role*: a field of a kind, such as source.
- *chunk*: a piece of a source that can be parsed by itself. *fields*: its raw values by role, before they are checked.
- *whole*: a row is read with all its columns, so that it can be written again. *given*: the row as it was read.
- *more*: what a row says beside its two sides, by name.
- *unit*: an entry of a TMX file; *variant*: one of its translations; *pair*: two of them.
- *tag*: a start tag, end tag or code inside a text. *code*: a tag with content of another format, which is no text.
- *base*: the number of the first word of a sentence in a file of links, 0 or 1.
"""
