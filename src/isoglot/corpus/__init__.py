"""Corpora: raw files go in, a prepared folder comes out, and from it the streams that training reads.

    raw files ─> prepare.py, prepare_worker.py ─> shards.py ─> corpus folder ─> encode/ ─> stream ─> pack/ ─> blocks
                 parse and filter                 which rows    manifest.py     pieces             rows of equal length

Open ``prepare.py`` first for `isoglot prepare`, and ``encode/encode.py`` for streams. ``open_corpus.py`` reads rows
of a prepared folder or of raw files alike; every verb that takes corpora uses it. ``labelled_tables.py`` reads data
sets that already have a schema's columns.

A *row* is a text, a sentence pair or an entry of a lexicon; a *shard* is a file of rows; a *stream* is a corpus cut
into the pieces of one tokenizer.
"""
