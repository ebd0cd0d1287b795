"""Encode corpora: rows of text go in, and a stream of pieces comes out, with the word of each piece.

    corpus ─> encode.py ─> batch.py ─> pieces.py   texts or given words ─> pieces and their words
              cache, order     │
                               └─────> links.py    links between words ─> links between pieces

Open ``encode.py`` first. ``templates.py`` knows the special tokens around a text or a pair, ``store.py`` keeps streams
on disk. The other files are about tokenizers: ``tokenizer.py`` trains one, ``load_tokenizer.py`` loads one,
``trimming.py`` removes pieces that text does not use, and ``unknown.py`` finds words that the vocabulary lacks.
"""
