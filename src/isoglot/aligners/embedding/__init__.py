"""Word aligners by an encoder: words are linked whose hidden states are similar.

    pairs with words ─> pieces ─> states of a layer ─> links of pieces ─> links of words
                        piece_states.py                scores.py          aligner.py

Read ``aligner.py`` first: ``EmbeddingAligner`` has this order, in ``encode`` and ``extract``. ``options.py`` lists
the methods (SimAlign, awesome-align, XLM-Align) and their options; ``choice.py`` keeps the options that suit an
encoder best, which ``score_layers.py`` finds. ``running_text.py`` joins Chinese, Japanese and Thai characters to
pieces before, and gives them the links of their pieces afterwards. ``poor_fit.py`` and ``taught.py`` warn of text
that suits an encoder badly.
"""
