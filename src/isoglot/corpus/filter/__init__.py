"""Filter rows: choose the rows of a chunk that pass all filters, and count those that each filter drops.

Open ``chunk.py`` first, which `isoglot prepare` calls, and then ``filters.py``, whose row rules `isoglot filter` has
too. A new row rule is a name in ``ROW_RULES`` (``corpus/options.py``), its option there (also in ``_sides_are_there``
if the rule compares two sides), and its test in ``RowTests``. ``scripts.py`` serves the row rule of scripts.

`isoglot prepare` does not use the other files. They serve the rules that `isoglot filter` alone has, in
:mod:`isoglot.mining.pair_rules`: ``identify.py`` (is a text in its language), ``mojibake.py`` (was it read in a wrong
encoding), ``placeholders.py``, and ``numbers.py`` with ``number_words.py`` (does a translation keep them).
"""
