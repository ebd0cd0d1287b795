import pytest
from pydantic import ValidationError

from isoglot.corpus.options import PrepareOptions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_pieces": 10}, "min_pieces\\]\\]: has an effect only with \\[\\[tokenizer"),
        ({"kind": "text", "max_length_ratio": 2}, "need two sides"),
        ({"kind": "text", "duplicates": "source"}, "need two sides"),
        ({"scripts": {"en": ["Latin"]}}, "scripts\\]\\]: has an effect only with \\[\\[min_script_share"),
        ({"limt": 5}, "Extra inputs"),
    ],
)
def test_options_that_cannot_work(options, message):
    with pytest.raises(ValidationError, match=message):
        PrepareOptions(**options)
