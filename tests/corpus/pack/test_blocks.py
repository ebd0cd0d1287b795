import numpy as np

from isoglot.corpus.pack.blocks import Text, fill_blocks, renumbered_words


def text(size, language="en", word_ids=None):
    words = np.zeros(size, dtype=np.int64) if word_ids is None else np.array(word_ids)
    return Text(np.arange(size), words, language)


def pair(source, target, languages=("en", "de")):
    return text(source, languages[0]), text(target, languages[1])


def sizes(blocks):
    """The sizes of the texts in each side of each block."""
    return [[[len(text.ids) for text in block.texts] for block in sides] for sides in blocks]


def test_a_row_that_does_not_fit_begins_the_next_blocks():
    filled = fill_blocks([pair(4, 5), pair(4, 6), pair(3, 2)], room=10)
    assert sizes(filled) == [[[4], [5]], [[4, 3], [6, 2]]]


def test_a_later_row_does_not_go_back_to_a_finished_block():
    filled = fill_blocks([(text(6),), (text(7),), (text(4),)], room=10)
    assert sizes(filled) == [[[6]], [[7]], [[4]]]


def test_languages_have_blocks_of_their_own_in_the_order_in_which_they_were_met():
    rows = [pair(2, 2), pair(3, 3, ("fr", "de")), pair(4, 4)]
    assert sizes(fill_blocks(rows, room=10)) == [[[2, 4], [2, 4]], [[3], [3]]]


def test_words_of_a_block_are_numbered_without_gaps():
    texts = [text(5, word_ids=[-1, 0, 0, 1, -1]), text(4, word_ids=[-1, 1, 3, -1])]
    numbers = renumbered_words(texts, np.repeat([0, 1], [5, 4]))
    assert numbers.tolist() == [-1, 0, 0, 1, -1, -1, 2, 3, -1]
