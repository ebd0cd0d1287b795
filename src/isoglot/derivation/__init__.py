"""Derived languages: a corpus in, its copy in another script, word order or syntax out, with gold links and labels.

    corpus ── input.py ──> row ── rows.py ──> Sentence ── a Transform ──> DerivedSentence (words and their origins)
                                                                                │
    folder <── output.py ── derived row, and sentence pairs with gold links <── rows.py, labels.py

Read ``base.py`` first: a :class:`~isoglot.derivation.base.Transform` is a function from a sentence to a derived one,
and the *origins* of its words are all that links, labels and trees need to follow. ``spec.py`` makes the transform that
a name such as ``trans+inv`` asks for; ``derive_corpus.py`` has the order of ``isoglot derive``.

- *trans*, another script: ``alphabet.py`` (letters), ``vocabulary.py`` and ``shared_pieces.py`` (a tokenizer's pieces).
- *inv*, *perm*, another order: ``order.py``.
- *syn*, another syntax: ``syntax.py`` asks ``order_model.py``, whose features are in ``arrangements.py``;
  ``order_fit.py`` fits such models (``isoglot fit-order``).

The words of this room:

- *origin*: of a derived word, the number of the original word that it renders.
- *copy*: of a piece, the piece that stands for it in the derived language; its id is ``id + V``.
- *shared*: words or pieces that both languages write alike.
- *group*: a head and its dependents; its *members* are put in order, the head among them.
- *run*: three to five members in a row.
"""
