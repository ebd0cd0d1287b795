"""Pairs of sentences by their vectors and word links: filter a bitext, mine two texts, align two documents.

    filter:          pairs ─> pair_rules.py ─> scored_windows.py (vector_scores.py, link_scores.py) ─> kept, dropped
    mine:            two texts ─> vectors.py ─> nearest neighbours ─> mine.py, `best_pairs` ─> pairs
    align-sentences: two documents ─> vectors.py ─> sentence_paths.py ─> groups of lines

Open ``filter_pairs.py``, ``mine.py`` or ``align_sentences.py`` first: each has its verb. ``options.py`` has the
requests of all three, ``presets.py`` the presets of `filter`, ``duplicates.py`` its duplicates.

- *margin*: similarity of two sentences in relation to that of their nearest neighbours.
- *window*: the pairs among which `filter` searches neighbours, ``pool`` of them that pass the rules.
- *path*, *step*, *cost*: of `align-sentences`; a *random pair* of lines costs about 1.
- *reasons*: names of the rules that drop a pair.
"""
