"""A miniature world of English-like text: labelled data for every task, made offline from a seed.

    lexicon.txt ── lexicon.py ──> pools of lexemes ───────────────────────────────┐
    grammar.txt ── grammar.py ──┐                                                 ├─> world.py ──> rows
    families.py ── pairs.py ────┼─> patterns (sentences with variables, a label) ─┘        write_world.py ──> files
    stories.py ─────────────────┘

Read ``world.py`` first: :class:`~isoglot.synthetic.world.World` draws a pattern and words for its variables until it
has the rows that were asked for. Labels are right because a pattern has them, whatever words it gets.

The world is English. ``isoglot derive`` makes other languages of it; its ``--overlap`` says what share of the
vocabulary both write alike.

The words of this room:

- *lexeme*: a word with its forms (``sg``, ``pl``, ``past``); a *pool* has those that can stand in one place.
- *variable*: a place in a pattern for a lexeme of one pool; two places with one variable show the same lexeme.
- *wording*: a sentence as a line with its tree and its variables: ``(nsubj every N.sg) V.past .``
- *token*: a word of a wording, fixed or a form of a variable.
- *pattern*: one or more sentences of tokens, with a label, a weight or an answer. Rows are drawn from patterns.
- *model*: one possible small state of affairs, such as which of three people did it.
- *family*: statements about the same variables, each with its *truth*, the set of models in which it is true.
- *scene*: a template for a part of a story. Its *mirrors* are sentences with roles swapped, so that words alone do not
  answer a question.
- *topic*: the subject of a row, whose words are drawn more often.
"""
