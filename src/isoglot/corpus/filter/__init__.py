"""Filter rows: the rows of a chunk go in, those that pass and a count for each filter come out.

Open ``chunk.py`` first, which `isoglot prepare` calls, and then ``filters.py``, whose rules `isoglot filter` shares.
Each of the other files answers one question about a text: ``scripts.py`` (is it in a script of its language),
``identify.py`` (is it in its language), ``mojibake.py`` (was it read in a wrong encoding), ``placeholders.py`` and
``numbers.py`` with ``number_words.py`` (does a translation keep them).
"""
