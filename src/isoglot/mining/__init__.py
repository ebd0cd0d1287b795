"""Sentence pairs: filter a bitext, mine two texts for translations, align the sentences of two documents.

    filter:          pairs ─> pair_rules.py ─> scored_windows.py (vector_scores.py, link_scores.py) ─> kept, dropped
    mine:            two texts ─> vectors.py ─> nearest neighbours ─> mine.py, `best_pairs` ─> pairs
    align-sentences: two documents ─> vectors.py ─> sentence_paths.py ─> groups of lines

Open ``filter_pairs.py``, ``mine.py`` or ``align_sentences.py`` first: each has its verb. ``options.py`` has the
requests of all three, ``presets.py`` the presets of `filter`, ``duplicates.py`` its duplicates.

- *margin*: cosine of two sentences, divided by the mean of their neighbour means. The *neighbour mean* of a sentence is
  its mean cosine to its nearest neighbours on the other side. :mod:`isoglot.modules.neighbours` has the formula.
- *forward*, *backward*: from source to target, from target to source. Searches and proposals of `mine` have these
  directions; a margin has none.
- *candidate*: of `mine`, one of the nearest neighbours of a sentence on the other side. *proposal*: a sentence and its
  best candidate.
- *chunk*: pairs to which `filter` applies the rules at a time.
- *window*: pairs among which `filter` searches neighbours: consecutive pairs, of which ``pool`` pass the rules.
- *batch*: texts that are encoded together, or pairs that `filter` works on together: a chunk or a window.
- *reasons*: names of the rules and low scores that drop a pair. *kept*: pairs without a reason.
- *label*: a pair as warnings call it, ``a.tsv:7, pair 3``.
- *run*: one run of a command. *finished*: results that a stopped run has left, for a run that is resumed
  (:mod:`isoglot.runs.parts`).
- *part*: of `align-sentences`, the lines between two blank ones; *span*: neighbouring lines of a part that are encoded
  as one text.
- *path*, *step*, *cost*: of `align-sentences`; a *random pair* of lines costs about 1.
"""
