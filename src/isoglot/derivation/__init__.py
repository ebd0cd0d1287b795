"""Derived languages: a corpus in, its copy in another script, word order or syntax out, with gold links and labels.

    corpus ── input.py ──> row ── rows.py ──> Sentence ── a Transform ──> DerivedSentence (words and their origins)
                                                                                │
    folder <── output.py ── derived row, and sentence pairs with gold links <── rows.py, labels.py

Read ``base.py`` first: a :class:`~isoglot.derivation.base.Transform` is a function from a sentence to a derived one.
The derived sentence has an *origin* for each word, and gold links, labels and trees follow from the origins alone. Then
read ``derive_corpus.py``, which has the order of ``isoglot derive``, and ``spec.py``, which makes the transform that a
name such as ``trans+inv`` asks for.

- *trans*, another script: ``alphabet.py`` (letters), ``vocabulary.py`` and ``shared_pieces.py`` (a tokenizer's pieces).
- *inv*, *perm*, another order: ``order.py``.
- *syn*, another syntax: ``syntax.py`` asks ``order_model.py``, whose features are in ``arrangements.py``;
  ``order_fit.py`` fits such models (``isoglot fit-order``).

The words of this room:

- *origin*: of a derived word, the number of the original word that it renders.
- *gold pair*: an original sentence and its derived one, with word links.
- *piece*: an entry of a tokenizer's vocabulary. Its *copy* stands for it in the derived language and has the id
  ``id + V``, where V is the size of the vocabulary.
- *shared*: words or pieces that both languages write alike.
- *mark*: a word or character of ``. ! ?`` that ends a sentence; ``END_MARKS`` in ``order.py`` lists where which counts.
- *group*: a head and its dependents; its *members* are put in order, the head among them.
- *run*: two to five members that stand side by side in an order (an n-gram of members).
- *column*: a property that an order can have, such as a run; a *feature* is the name of a column in one group.
- *substrate*, *superstrate*: the language of the words and trees, and the language whose order is taken (*syn*).
"""
