"""The languages of TMX files that nobody names."""

from __future__ import annotations

import pytest
from reading import write
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.prepare import prepare
from isoglot.formats import tmx as module
from isoglot.formats.line_files import LineFile
from isoglot.formats.readers import read
from isoglot.formats.sources import Source, expand


def tmx(folder, *units, srclang="*all*", name="a.tmx"):
    """A file of one unit a line, each a mapping of tags to texts."""
    lines = (
        "<tu>"
        + "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in unit.items())
        + "</tu>"
        for unit in units
    )
    head = f'<tmx version="1.4"><header srclang="{srclang}"/><body>\n'
    return write(folder, name, head + "\n".join(lines) + "\n</body></tmx>\n")


def languages(path, **given):
    return expand([Source(path=path, **given)], "bitext")[0].languages("bitext")


@pytest.mark.parametrize(
    ("srclang", "wanted"),
    [("*all*", ("de", "en")), ("", ("de", "en")), ("en-US", ("en", "de")), ("DE", ("de", "en"))],
)
def test_the_header_names_the_source_or_the_first_is_it(tmp_path, srclang, wanted):
    path = tmx(tmp_path, {"DE-de": "eins", "en_GB": "one"}, {"en": "two", "de": "zwei"}, srclang=srclang)
    assert languages(path) == wanted
    assert languages(path, source_language="src", target_language="tgt") == wanted
    texts = {"de": ["eins", "zwei"], "en": ["one", "two"]}
    assert [row["source"] for row in read(Source(path=path))] == texts[wanted[0]]


def test_one_flag_leaves_the_other_language(tmp_path):
    path = tmx(tmp_path, {"de": "eins", "en-GB": "one"})
    assert languages(path, source_language="en") == ("en", "de")
    assert languages(path, source_language="src", target_language="de") == ("en", "de")
    assert languages(path, source_language="en-GB") == ("en-GB", "de")
    with refused(InputError, "a.tmx:4: ", "de, en-gb"):
        list(read(Source(path=path, source_language="it")))


def test_two_variants_of_one_language_are_two(tmp_path):
    path = tmx(tmp_path, {"pt-BR": "trem", "pt-PT": "comboio"}, srclang="pt-PT")
    assert languages(path) == ("pt-pt", "pt-br")


def test_tmx_with_another_number_of_languages_is_refused(tmp_path):
    path = tmx(tmp_path, {"de": "eins", "en": "one"}, {"de": "zwei", "fr-CA": "deux", "it": "due"})
    with refused(InputError, "a.tmx:3: ", "de, en, fr, it", 'languages=("de", "en")'):
        languages(path)
    assert languages(path, source_language="fr", target_language="it") == ("fr", "it")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            '<tmx><body><tu><tuv xml:lang="de"><seg>eins</seg></tuv></tu></body></tmx>',
            ": .*only de.*xml:lang",
        ),
        ("<tmx/>", ": .*no language.*xml:lang"),
        ('<!DOCTYPE tmx [<!ENTITY x "y">]><tmx/>', ":1: .*entity 'x'"),
    ],
    ids=["one language", "no language", "an entity"],
)
def test_languages_of_a_tmx_file_are_two(tmp_path, text, named):
    with pytest.raises(InputError, match=rf"a\.tmx{named}"):
        languages(write(tmp_path, "a.tmx", text))


def test_files_of_two_directions_are_refused(tmp_path):
    one = tmx(tmp_path, {"de": "eins", "en": "one"})
    other = tmx(tmp_path, {"en": "two", "de": "zwei"}, name="b.tmx")
    sources = [Source(path=path) for path in (one, other)]
    with refused(ConfigurationError, "b.tmx: ", "en to de", "a.tmx", 'languages=("de", "en")'):
        expand(sources, "bitext")
    named = Source(path=other, source_language="de")
    assert [source.languages("bitext") for source in expand([sources[0], named], "bitext")] == [
        ("de", "en")
    ] * 2


def test_standard_input_has_no_languages(tmp_path):
    with refused(ConfigurationError, "-: ", 'languages=("en", "de")'):
        expand([Source(path="-", format="tmx")], "bitext")


def test_a_file_is_read_to_its_end_once_until_it_changes(tmp_path, monkeypatch):
    opened = []

    class Counted(LineFile):
        def __init__(self, path):
            opened.append(path)
            super().__init__(path)

    monkeypatch.setattr(module, "LineFile", Counted)
    path = tmx(tmp_path, {"de": "eins", "en": "one"})
    assert languages(path) == languages(path) == ("de", "en")
    assert opened == [path]
    tmx(tmp_path, {"fr": "un", "en": "one"}, {"fr": "deux", "en": "two"})
    assert languages(path) == ("fr", "en")


def test_a_corpus_has_the_languages_of_the_file(tmp_path):
    summary = prepare(Source(path=tmx(tmp_path, {"de": "eins", "en": "one"})), tmp_path / "out", processes=1)
    assert [count.languages for count in summary.languages] == [("de", "en")]
