from __future__ import annotations

from pydantic import ValidationError
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import Sentence
from isoglot.derivation.options import DeriverOptions, TransformOptions
from isoglot.derivation.order import Inversion
from isoglot.derivation.spec import build


def test_build_names_mistakes() -> None:
    with refused(ValidationError, "repair", "'entities', 'consistent'", "'all'"):
        DeriverOptions(repair="all")
    for bad in ("rot13", "trans+trans", "inv+", ""):
        with refused(ConfigurationError, f"'{bad}'", "trans+inv"):
            build(bad)
    with refused(ConfigurationError, "syn", 'syntax="en~fr@N~fr@V"', "models=FOLDER", 'models="built-in"'):
        build("syn")
    with refused(ConfigurationError, "overlap 0.5", "words=..."):
        build("trans", TransformOptions(overlap=0.5))


def test_compose_applies_the_last_one_first() -> None:
    sentence = Sentence.of("b a c .")
    assert build("trans∘inv")(sentence, key=0) == build("trans+inv")(sentence, key=0)
    expected = build("trans")(Sentence(Inversion(TransformOptions())(sentence).words), key=0).words
    assert build("trans+inv")(sentence, key=0).words == expected
    # The other way round the final mark is in the new script, which inversion does not know.
    assert build("inv+trans")(sentence, key=0).words != expected
