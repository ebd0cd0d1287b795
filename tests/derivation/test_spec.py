from __future__ import annotations

import pytest
from pydantic import ValidationError

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import Sentence
from isoglot.derivation.options import DeriverOptions, TransformOptions
from isoglot.derivation.order import Inversion
from isoglot.derivation.spec import build


def test_build_names_mistakes() -> None:
    with pytest.raises(ValidationError, match="'entities', 'consistent'"):
        DeriverOptions(repair="all")
    for bad in ("rot13", "trans+trans", "inv+", ""):
        with pytest.raises(ConfigurationError, match=r"trans\+inv"):
            build(bad)
    with pytest.raises(ConfigurationError, match="models=FOLDER"):
        build("syn")
    with pytest.raises(ConfigurationError, match="words="):
        build("trans", TransformOptions(overlap=0.5))


def test_compose_applies_the_last_one_first() -> None:
    sentence = Sentence.of("b a c .")
    assert build("trans∘inv")(sentence, key=0) == build("trans+inv")(sentence, key=0)
    expected = build("trans")(Sentence(Inversion(TransformOptions())(sentence).words), key=0).words
    assert build("trans+inv")(sentence, key=0).words == expected
    # The other way round the final mark is in the new script, which inversion does not know.
    assert build("inv+trans")(sentence, key=0).words != expected
