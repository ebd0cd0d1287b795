"""Filter rows: choose the rows of a chunk that pass all filters, and count those that each filter drops.

Open ``chunk.py`` first, which `isoglot prepare` calls, and then ``filters.py``, whose row rules `isoglot filter` has
too. Each of the other files answers one question about a text: ``scripts.py`` (is it in a script of its language),
``identify.py`` (is it in its language), ``mojibake.py`` (was it read in a wrong encoding), ``placeholders.py`` and
``numbers.py`` with ``number_words.py`` (does a translation keep them).
"""
