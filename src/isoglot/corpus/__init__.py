"""Corpora: make a prepared folder of raw files, and from it the streams that training reads.

    raw files ─> prepare.py, prepare_worker.py ─> shards.py ─> corpus folder ─> encode/ ─> stream ─> pack/ ─> blocks
                 parse, and filter/               which rows    manifest.py     pieces             rows of equal length

Open ``prepare.py`` first for `isoglot prepare`, and ``encode/encode.py`` for streams. ``open_corpus.py`` reads rows
of a prepared folder or of raw files alike; every verb that takes corpora uses it. ``labelled_tables.py`` reads data
sets that already have a schema's columns.

The words of this room:

- *row*: a text, a sentence pair or an entry of a lexicon.
- *source*: an input with its languages and format, one file or a pattern; in a pair, also the first *side*.
- *filter*: drops rows. *row rule*: a filter that looks at one row at a time, which `isoglot filter` has too.
- *chunk*: consecutive lines of a source, which one worker parses and filters.
- *part*: the rows of a chunk that passed the filters, in a file that is deleted at the end.
- *shard*: a Parquet file of the corpus, made of several parts.
- *stream*: a corpus cut into the pieces of one tokenizer, cached under a hash of its content.
- *piece*: a token of a tokenizer, without special tokens; each has a *word id*, the number of its word or −1.
- *block*: texts of a stream that are one input of the encoder.
"""
