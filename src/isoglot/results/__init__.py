"""Files between what measures and what reports: rows of results, cells of tables, counts of examples, confusions.

``isoglot evaluate`` (``evaluation/``), ``isoglot analyse`` (``analysis/``) and studies (``studies/tables.py``) make and
write the results; reports read them. Open ``rows.py`` first.

- ``rows.py``: ``results.jsonl``, one :class:`~isoglot.results.rows.Result` a line: one number that was measured; and
  ``cells.jsonl``, one :class:`~isoglot.results.rows.Cell` a line: a number with its place in a paper's table.
- ``example_counts.py``: what a metric counted in each example, so that two systems can be compared on them.
- ``confusion.py``: how often each class was predicted for each class, by language.
- ``link_counts.py``: word links against gold links, the only counts here that are not a file.
"""
