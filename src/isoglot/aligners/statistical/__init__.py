"""Statistical word aligners, which learn from the bitext itself: fast_align's IBM 2, a Bayesian HMM, and eflomal.

    words ─> word numbers ─> table of word pairs ─> EM: expected links <─> probabilities ─> posteriors ─> links
             bitext.py       pair_table.py          fast_align: ibm2.py, diagonal.py        decoding.py
                                                    hmm: hmm_training.py, text_passes.py

Read ``model.py`` first: ``StatisticalAligner`` learns, aligns, saves and loads. ``methods.py`` has a class per method,
which brings two directions together; ``saved_models.py`` reads what it saved. ``ibm2.py`` and ``hmm.py`` begin with the
models' formulas. The compiled loops are in ``diagonal.py``, ``positions.py`` (fast_align), ``text_passes.py`` and
``markov.py`` (HMM). ``merging.py`` adds up models of parts of a text.

- *conditioning word*, *generated word*: a direction explains each generated word by one word of the other side, or by
  *null*. The *forward* direction generates target words, the *reverse* direction source words. (*forward–backward* is
  the algorithm, which runs in both.)
- *null probability*, p0: the prior that a generated word has no counterpart, one number. An array ``null`` has
  p(word | null) of each generated word, ``null_counts`` its expected null links.
- *slot*: the place of a pair of words in the table, and in all arrays with one value per pair.
- *entry*: a source and a target word of one sentence pair. Many entries share a slot.
- *part*: the sentences that one thread works on (in ``merging.py``: the text that one model learned from). *batch*:
  sentence pairs of a part that are computed at a time.
- *update*: an E-step and an M-step. The last iteration of fast_align only decodes, so it makes one update fewer than
  the option ``iterations`` says; the HMM makes as many.
- *contribution*: how much an entry, or null at a token, added to the counts in the last iteration of the HMM.
- *expected links* (counts): the sum of the probabilities of links over a text.
- *posterior*: the probability of a link, given the sentence pair.
- *log-likelihood*: the logarithm of p(generated side | conditioning side). ``SentenceAlignments.score``, which a
  corpus has as the column ``alignment_score``, is a log-likelihood per word, not a score as of a ``SentencePair``.
- *token*: a word at its place in the text, unlike the word in the vocabulary.
"""
