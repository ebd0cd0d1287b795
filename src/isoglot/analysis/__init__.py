"""Analyses of trained encoders: checkpoints and a corpus in, figures or rows of results out.

    checkpoints ──> Job (analyse.py) ──┐
                                       ├─> one function an analysis ──> OUT/figures/NAME.json or OUT/results.jsonl
    request (options.py) ──────────────┘

Read ``api.py`` first: ``ANALYSES`` names each analysis with its options and its function. The function loads models and
draws; the numbers come from modules that know neither files nor figures:

- *alignment* (``analyse.py``): ``checkpoint_score.py`` finds what belongs together in a checkpoint, and
  ``alignment_score.py`` scores two sets of vectors.
- *correlation* (``analyse_correlation.py``): results of alignment beside those of ``transfer.py``, which measures how
  much a language loses without training data of its own.
- *map* (``analyse_map.py``): ``word_map.py`` chooses words, and projects them to the plane.
- *layers*, *alignments* (``analyse_links.py``): word links of an encoder beside gold links.
- *similarity*, *geometry* (``analyse_vectors.py``): ``vectors.py`` encodes, ``similarity.py`` compares two languages,
  ``geometry.py`` measures the shape of one.

The words of this room:

- *subject*: a checkpoint under its name in legends.
- *pair*: a word or sentence and its translation; a *gold pair* is one that a lexicon or a person names.
- *entry*: a vector of one side of a lexicon or a copied vocabulary, whose nearest candidate is looked for.
- *point* of a figure: a layer in lines, a word in a map, a run and language in a scatter. Each kind of figure is a
  class of ``isoglot/reports/figure_files.py``, with its data; ``isoglot/reports/charts.py`` draws it and lists them.
- *candidate*: a vector of the other side among which the nearest one is looked for.
- *drop*, or Δ: results after training on a language, minus results without (``SUP − ZS``).
"""
