"""A saved statistical model is used for text like its own: the same words, the same languages."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from commands import run
from datasets import Dataset
from labelled_files import json_lines
from refusals import refused
from repeated_bitext import bitext

import isoglot as iso
from isoglot.aligners.statistical.merging import merge
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.mining.filter_pairs import filter_pairs

RUNNING = [("Das Haus ist klein.", "The house is small."), ("Das Buch, ein Kind.", "The book, a child.")] * 4
FOREIGN = [("A ház kicsi", "The house is small"), ("Ez egy könyv és gyerek", "This is a book and child")]


def tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A German-English model of running text."""
    text = tsv(tmp_path / "text.tsv", RUNNING)
    run("align", text, "-m", "hmm", "--words", "unicode", "--source-lang", "de", "--target-lang", "en", "--lowercase",
        "--save", tmp_path / "model", "-o", tmp_path / "trained.txt")  # fmt: skip
    return tmp_path / "model"


def test_saved_model_records_words_languages_and_case_and_cuts_text_alike(
    model: Path, tmp_path: Path
) -> None:
    about = json.loads((model / "model.json").read_text())
    assert (about["words"], about["languages"], about["lowercase"]) == ("unicode", ["de", "en"], True)
    links = run("align", tmp_path / "text.tsv", "--load", model)
    assert links.splitlines() == (tmp_path / "trained.txt").read_text().splitlines()
    assert links == run("align", tmp_path / "text.tsv", "--load", model, "--words", "unicode")
    told = run(
        "align", tmp_path / "text.tsv", "--load", model, "--words", "whitespace", fails=ConfigurationError
    )
    assert "was trained on text split with --words unicode; leave --words out" in told


def test_a_model_of_running_text_links_text_that_is_split_already(model: Path, tmp_path: Path) -> None:
    split = [{"source": ["Das", "Haus", "ist", "klein", "."], "target": ["The", "house", "is", "small", "."]}]
    lines = json_lines(tmp_path / "split.jsonl", *split)
    whole = run("align", tmp_path / "text.tsv", "--load", model).splitlines()[0]
    assert run("align", lines, "--load", model).splitlines() == [whole]
    run("align", lines, "--load", model, "-f", "corpus", "-o", tmp_path / "corpus")
    assert run("align", tmp_path / "corpus", "--load", model).splitlines() == [whole]
    for text in (lines, tmp_path / "corpus"):
        told = run("align", text, "--load", model, "--words", "unicode", fails=Exception)
        assert "already split into words" in told


@pytest.mark.parametrize("use", ["--load", "--start"])
def test_text_of_another_named_language_is_refused_unless_forced(
    model: Path, tmp_path: Path, use: str
) -> None:
    text = tsv(tmp_path / "foreign.tsv", FOREIGN)
    method = ["-m", "hmm", "--lowercase"] if use == "--start" else []
    call = ("align", text, *method, use, model, "-o", tmp_path / "links.txt")
    told = run(*call, "--source-lang", "hu", "--target-lang", "en", fails=ConfigurationError)
    assert f"{model} was trained on de-en, and this text is hu-en" in told and "add --any-language" in told
    assert not (tmp_path / "links.txt").exists()
    told = run(*call, "--source-lang", "en", "--target-lang", "de", fails=ConfigurationError)
    assert "this text is en-de" in told, "the sides are exchanged"
    for languages in ((), ("--source-lang", "deu", "--target-lang", "en-US"), ("--source-lang", "de")):
        run(*call, *languages)
    run(*call, "--source-lang", "hu", "--target-lang", "en", "--any-language")
    assert len((tmp_path / "links.txt").read_text().splitlines()) == len(FOREIGN)


def test_any_language_without_a_saved_model_is_refused(tmp_path: Path) -> None:
    text = tsv(tmp_path / "text.tsv", RUNNING)
    told = run("align", text, "-m", "hmm", "--any-language", fails=ConfigurationError)
    assert "--any-language: has an effect only with --start" in told


def test_text_of_mostly_unknown_words_is_warned_of_once_a_side(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    def warnings() -> list[str]:
        found = [
            record.getMessage() for record in caplog.records if "unknown to the model" in record.getMessage()
        ]
        caplog.clear()
        return found

    run("align", tsv(tmp_path / "foreign.tsv", FOREIGN * 3), "--load", model)
    assert [text.split("; ")[0] for text in warnings()] == [
        "24 of 24 source words are unknown to the model, and links of such words are guesses"
    ]
    run("align", tmp_path / "text.tsv", "--load", model)
    half = [("DAS haus", "the HOUSE"), ("neu Ding", "new thing")]
    run("align", tsv(tmp_path / "half.tsv", half), "--load", model)
    assert warnings() == [], "half of the words are known, whatever their case"
    aligner = StatisticalAligner.load(model)
    pair = (["a", "ház", "kicsi"], ["the", "house", "is", "small"])
    aligner.align_words(*pair)
    aligner.align(Dataset.from_dict({"source": ["a ház kicsi"], "target": ["the house"],
                                     "source_language": [""], "target_language": ["en"]}))  # fmt: skip
    assert len(warnings()) == 2


def test_a_model_of_running_text_cuts_a_data_set_as_it_was_trained() -> None:
    source, target = map(list, zip(*RUNNING, strict=True))
    text = bitext(source, target)
    aligner = StatisticalAligner("hmm", words="unicode").fit(text)
    assert aligner.languages == ("de", "en")
    aligned = aligner.align(text)
    assert aligned[0]["source_words"] == ["Das", "Haus", "ist", "klein", "."]
    foreign = text.map(lambda row: {"source_language": "hu"})
    with refused(ConfigurationError, "de-en, ", "hu-en", "any_language=True"):
        aligner.align(foreign)
    aligner.languages = ("", "")
    assert aligner.align(foreign)["links"] == aligned["links"]


def test_models_of_two_languages_are_not_merged(tmp_path: Path) -> None:
    names = {
        "german": ("de", "en"),
        "english": ("deu", "en-GB"),
        "russian": ("ru", "en"),
        "unnamed": ("", "tgt"),
    }
    models = {}
    for name, languages in names.items():
        models[name] = tmp_path / name
        StatisticalAligner("hmm", languages=languages).fit(bitext()).save(models[name])
    for pair in (("german", "russian"), ("russian", "german")):
        codes = {"german": "de-en", "russian": "ru-en"}
        with refused(ConfigurationError, f"/{pair[1]}: ", codes[pair[1]], f"/{pair[0]} ", codes[pair[0]]):
            merge([models[name] for name in pair])
    with refused(ConfigurationError, "/russian: ", "ru-en", "/german ", "de-en"):
        merge([models[name] for name in ("german", "english", "russian")])
    assert merge([models["german"], models["english"]]).languages == ("de", "en")


@pytest.mark.parametrize("languages", ["de", ("de",), ("de", "en", "fr"), ("de", None), 5])
def test_languages_are_two_tags(languages: object) -> None:
    with refused(ConfigurationError, "languages: ", "('de', 'en')", f"got {languages!r}"):
        StatisticalAligner(languages=languages)


def test_a_folder_is_a_model_wherever_an_encoder_may_be_named(model: Path, tmp_path: Path) -> None:
    """`align --model`, `score --model` and `filter --aligner` link as `align --load` does."""
    links = run("align", tmp_path / "text.tsv", "--load", model)
    assert run("align", tmp_path / "text.tsv", "--model", model) == links
    split = {"src": ["Das", "Haus", "ist", "klein", "."], "tgt": ["The", "house", "is", "small", "."]}
    pairs = [list(map(int, link.split("-"))) for link in links.splitlines()[0].split()]
    lines = json_lines(tmp_path / "gold.jsonl", {**split, "sure": pairs}, {**split, "sure": [*pairs, [0, 4]]})
    rates = json.loads(
        run("score", "--gold", lines, "--model", model, "--json", "--sentences", tmp_path / "s.tsv")
    )
    assert (rates["precision"], rates["sentences"]) == (100.0, 2)
    assert rates["recall"] == pytest.approx(200 * len(pairs) / (2 * len(pairs) + 1))
    assert len((tmp_path / "s.tsv").read_text().splitlines()) == 3
    told = run("score", "--gold", lines, "--model", model, "--layers", "all", fails=ConfigurationError)
    assert "--layers: a saved statistical model does not have this option" in told

    wrong = tsv(tmp_path / "wrong.tsv", [RUNNING[0], (RUNNING[0][0], RUNNING[1][1])])
    kept = run("filter", wrong, "--aligner", model, "--min-alignment", "0.6")
    assert [line.split("\t")[:2] for line in kept.splitlines()] == [list(RUNNING[0])]
    foreign = ("filter", wrong, "--aligner", model, "--source-lang", "hu", "--target-lang", "en")
    assert "trained on de-en, and this text is hu-en" in run(*foreign, fails=ConfigurationError)
    assert len(run(*foreign, "--any-language").splitlines()) == 2


def test_unknown_words_are_warned_of_once_in_all_windows_of_a_filter(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judged = list(filter_pairs(FOREIGN * 4, aligner=model, pool=2))
    assert len(judged) == 8 and set(judged[0].scores) == {"alignment", "source_coverage", "target_coverage"}
    assert sum("source words are unknown" in record.getMessage() for record in caplog.records) == 1


def test_python_refuses_pairs_of_another_language_unless_forced(model: Path) -> None:
    def link(source: str, target: str, **options: Any) -> str:
        pairs = [SentencePair(RUNNING[0], languages=(source, target))]
        return iso.align_many(pairs, model=model, **options)[0].to_pharaoh()

    for languages in (("hu", "en"), ("en", "de")):
        with refused(ConfigurationError, "/model ", "de-en, ", "-".join(languages), "any_language=True"):
            link(*languages)
        assert link(*languages, any_language=True) == link("de", "en") == link("", "")
    assert iso.align(*RUNNING[0], model=model, any_language=True).to_pharaoh() == link("de", "en")


def test_merged_models_without_words_in_common_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    english = [["the", "house"], ["a", "book"], ["the", "house", "small"]]
    german = [["das", "haus"], ["ein", "buch"], ["das", "haus", "klein"]]
    hungarian = [["a", "ház"], ["egy", "könyv"], ["a", "kis", "ház"]]
    for method in ("hmm", "fast_align"):
        whole, part, foreign = (
            StatisticalAligner(method).fit_words(english[:count], target)
            for count, target in ((3, german), (1, german[:1]), (3, hungarian))
        )
        for parts in ((whole, part), (part, whole)):
            merge(parts)
        assert not caplog.records, "a small part knows little, and is known"
        merge([whole, foreign])
        (record,) = caplog.records
        assert record.getMessage().startswith(
            "model 2: 100 % of its target words are unknown to the models before"
        )
        caplog.clear()
