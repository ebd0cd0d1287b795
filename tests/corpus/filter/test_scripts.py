import numpy as np
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.filter.scripts import script_share, scripts_of


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="aéжδ中のﾊ한ー1 ,़क", max_size=8), min_size=1, max_size=6))
def test_script_share_equals_a_loop(texts):
    def share(text, names):
        letters = [
            c for c in text if regex.match(r"(?V1)[\p{L}--[\p{Script=Common}\p{Script=Inherited}]]", c)
        ]
        inside = [c for c in letters if any(regex.match(rf"\p{{Script={n}}}", c) for n in names)]
        return len(inside) / len(letters) if letters else 1.0

    for names in (("Latin",), ("Han", "Hiragana", "Katakana"), ("Devanagari",)):
        np.testing.assert_allclose(script_share(texts, names), [share(t, names) for t in texts])


def test_scripts_of_languages():
    assert scripts_of("pt-BR") == ("Latin",)
    assert scripts_of("uz_Cyrl") == ("Cyrl",) != scripts_of("uz")
    assert scripts_of("zh-Hant") == scripts_of("zho") == ("Han",)
    np.testing.assert_equal(script_share(["Дa"], ("Cyrl",)), [0.5])
    assert scripts_of("cmn") == ("Han",)
    assert scripts_of("en-x-perm") == ("Latin",), "a transformation, not Old Permic"
    assert scripts_of("tlh", {"tlh": ["Latin"]}) == ("Latin",)
    with refused(ConfigurationError, "min_script_share: ", "'tlh'", "scripts: {tlh: [Latin]}"):
        scripts_of("tlh")
    with refused(ConfigurationError, "scripts Latn1: "):
        script_share(["a"], ("Latn1",))
