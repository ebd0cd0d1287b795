"""`isoglot derive`, from file to folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refusals import refused
from small_trees import CONLLU
from transformers import AutoTokenizer

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.derivation.derive_corpus import DeriveSummary, derive_corpus
from isoglot.derivation.options import DeriveRequest, DeriverOptions, OrderFitRequest, TransformOptions
from isoglot.derivation.order_fit import fit_order_models
from isoglot.derivation.order_model import OrderModel
from isoglot.derivation.vocabulary import VocabularyCopy
from isoglot.formats.sources import Source
from isoglot.testing import tiny_bitext, tiny_tokenizer


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    lines = [f"{row['source'][:-1]} {row['source'][-1]}" for row in tiny_bitext(60)]
    path.write_text("\n".join([*lines, f"{lines[0]} {lines[1]}"]) + "\n")
    return path


def run(path: Path, spec: str, **fields: Any) -> DeriveSummary:
    request = DeriveRequest(transform=spec, languages=("en",), **fields)
    return derive_corpus([path], path.parent / "out", request)


def test_derive_cuts_text_at_the_marks_that_end_a_sentence(text: Path) -> None:
    text.write_text("it rains . why ? no idea .\n")
    run(text, "inv", rows=DeriverOptions(split_sentences=True), options=TransformOptions(end_marks="."))
    lines = (text.parent / "out" / "derived.txt").read_text().splitlines()
    assert lines == ["rains it .", "idea no ? why ."]


def test_derive_text_with_links_lexicon_and_tokenizer(text: Path) -> None:
    summary = run(text, "trans+inv", rows=DeriverOptions(split_sentences=True), lexicon=0.5)
    out = text.parent / "out"
    derived, original = ((out / f"{n}.txt").read_text().splitlines() for n in ("derived", "original"))
    assert summary.rows == len(derived) == len(original) == 62
    aligned, lexicon = load_corpus(out / "aligned"), load_corpus(out / "lexicon")
    assert aligned["target"][:] == derived
    assert aligned["source"][:] == original
    assert set(aligned["target_language"]) == {"en-x-trans-inv"}
    spelled: dict[str, str] = {}
    for row in aligned:
        for i, j in row["links"]:
            assert (
                spelled.setdefault(row["source_words"][i], row["target_words"][j]) == row["target_words"][j]
            )
    assert summary.entries == len(lexicon) == round(len(spelled) / 2)
    assert all(spelled[row["source"]] == row["target"] for row in lexicon)
    lines = (out / "lexicon.txt").read_text().splitlines()
    assert lines == [f"{row['source']}\t{row['target']}" for row in lexicon]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["request"]["transform"] == "trans+inv"
    assert manifest["counts"] == {"derived": 62}


def test_derive_sees_that_a_tokenizer_was_replaced(text: Path) -> None:
    folder = text.parent / "tokenizer"
    tiny_tokenizer("bert").save_pretrained(folder)
    run(text, "trans", tokenizer=str(folder))
    assert run(text, "trans", tokenizer=str(folder)).skipped
    tiny_tokenizer("bert", vocab_size=120).save_pretrained(folder)
    with refused(ConfigurationError, "/out: ", "different: ", "tokenizer.blake2b", "overwrite=True"):
        run(text, "trans", tokenizer=str(folder))


def test_derive_names_a_missing_tokenizer(text: Path) -> None:
    with refused(ConfigurationError, "/absent: "):
        run(text, "trans", tokenizer=str(text.parent / "absent"))
    assert not (text.parent / "out").exists()


def test_derive_text_has_the_pieces_of_the_original_plus_v(text: Path) -> None:
    original = train_tokenizer(
        text.read_text().splitlines(), algorithm="byte_bpe", vocab_size=330, family="roberta"
    )
    original.save_pretrained(text.parent / "tokenizer")
    run(
        text, "trans+inv", tokenizer=str(text.parent / "tokenizer"), rows=DeriverOptions(split_sentences=True)
    )
    out = text.parent / "out"
    doubled = AutoTokenizer.from_pretrained(out / "tokenizer")
    assert len(doubled) == 2 * len(original)
    options = EncodeOptions(words="whitespace")
    stream = encode_stream(load_corpus(out / "aligned"), doubled, options=options, cache_dir=text.parent)
    size = len(original)
    for row in stream:
        assert max(row["source_ids"]) < size <= min(row["target_ids"])
        assert sorted(row["source_ids"]) == sorted(i - size for i in row["target_ids"])
        by_word = {(w, i) for w, i in zip(row["source_word_ids"], row["source_ids"], strict=True)}
        assert len({w for w, _ in by_word}) == len(set(row["target_word_ids"]))
    labelled = text.parent / "tags.jsonl"
    labelled.write_text(json.dumps({"words": ["the", "river", "."], "tags": ["DET", "NOUN", "PUNCT"]}) + "\n")
    request = DeriveRequest(transform="trans", languages=("en",), tokenizer=str(out / "tokenizer"))
    derive_corpus([labelled], text.parent / "tagged", request)
    row = json.loads((text.parent / "tagged" / "derived.jsonl").read_text())
    copy = VocabularyCopy.load(out / "tokenizer")
    ids = original("the river .", add_special_tokens=False)["input_ids"]
    assert doubled(" ".join(row["words"]), add_special_tokens=False)["input_ids"] == copy.shift(ids).tolist()


def test_derive_skips_finished_output_and_refuses_to_overwrite(text: Path) -> None:
    first = run(text, "inv")
    again = run(text, "inv")
    assert again.skipped and not first.skipped
    assert (again.rows, again.counts) == (first.rows, first.counts)
    assert first.entries == 0
    with refused(ConfigurationError, "/out: ", "different: request.transform)", "overwrite=True"):
        run(text, "perm")
    (text.parent / "other").mkdir()
    (text.parent / "other" / "precious").touch()
    with refused(ConfigurationError, "/other: ", "`out`"):
        derive_corpus(
            [text], text.parent / "other", DeriveRequest(transform="inv", languages=("en",)), overwrite=True
        )
    replaced = derive_corpus(
        [text], text.parent / "out", DeriveRequest(transform="perm", languages=("en",)), overwrite=True
    )
    assert replaced.language == "en-x-perm"


def test_derive_draws_shared_words_from_the_corpus(text: Path) -> None:
    whole = run(text, "trans").entries
    request = DeriveRequest(transform="trans", languages=("en",), options=TransformOptions(overlap=0.25))
    part = derive_corpus([text], text.parent / "part", request).entries
    assert part == whole - round(whole * 0.25)


def test_derive_syntax_with_fitted_models(tmp_path: Path) -> None:
    treebank = tmp_path / "fr.conllu"
    treebank.write_text(CONLLU * 20)
    fits = dict(fit_order_models([treebank], tmp_path / "models", OrderFitRequest(language="fr")))
    assert [p.name for p in fits] == ["fr@N.orm", "fr@V.orm"]
    assert all(f.bits < f.bits_before for f in fits.values())
    english = tmp_path / "en.conllu"
    english.write_text(
        CONLLU.replace("2\tcat\t_\tNOUN\t_\t_\t4", "2\told\t_\tADJ\t_\t_\t3")
        .replace("3\told\t_\tADJ\t_\t_\t2\tamod", "3\tcat\t_\tNOUN\t_\t_\t4\tnsubj")
        .replace("3\tnsubj", "3\tamod")
        .replace("1\tthe\t_\tDET\t_\t_\t2", "1\tthe\t_\tDET\t_\t_\t3")
    )
    for kind in "NV":
        OrderModel({"BI_x_y": 0.0}).save(tmp_path / "models" / f"en@{kind}.orm")
    options = TransformOptions(syntax="en~fr@N~fr@V", models=tmp_path / "models", best=True)
    summary = run(english, "syn", options=options)
    assert summary.rows == 1
    lines = (tmp_path / "out" / "derived.conllu").read_text().splitlines()
    assert [line.split("\t")[1] for line in lines if "\t" in line] == ["the", "cat", "old", "sees", "mice"]
    raw = tmp_path / "raw.txt"
    raw.write_text("the old cat sees mice\nunparsed words\n")
    request = DeriveRequest(transform="trans+syn", languages=("en",), options=options, parses=str(english))
    parsed = derive_corpus([raw], tmp_path / "parsed", request)
    assert parsed.counts == {"derived": 1, "no parse": 1}
    with refused(ConfigurationError, "raw.txt: syn ", 'parses="FILE.conllu"'):
        derive_corpus(
            [raw], tmp_path / "none", DeriveRequest(transform="syn", languages=("en",), options=options)
        )
    assert not (tmp_path / "none").exists()


def test_derive_files_of_tasks(tmp_path: Path) -> None:
    ner = tmp_path / "dev"
    ner.write_text("en:New\tB-LOC\nen:York\tI-LOC\nen:won\tO\n\n")
    assert run(ner, "inv", kind="tagged").rows == 1
    row = json.loads((tmp_path / "out" / "derived.jsonl").read_text())
    assert (row["words"], row["tags"]) == (["won", "York", "New"], ["O", "B-LOC", "I-LOC"])
    nli = tmp_path / "nli.tsv"
    nli.write_text("premise\thypothesis\tlabel\nA dog barks.\tNo\tneutral\n")
    literal = DeriveRequest(
        transform="inv", kind="nli", languages=("en",), options=TransformOptions(literal=True)
    )
    derive_corpus([nli], tmp_path / "nli", literal)
    row = json.loads((tmp_path / "nli" / "derived.jsonl").read_text())
    assert (row["first"], row["second"], row["label"]) == ("barks dog A.", " No", "neutral")
    squad = tmp_path / "qa.json"
    question = {"id": "1", "question": "Who won?", "answers": [{"text": "Ann Lee", "answer_start": 0}]}
    squad.write_text(json.dumps({"data": [{"paragraphs": [{"context": "Ann Lee won.", "qas": [question]}]}]}))
    derive_corpus([squad], tmp_path / "qa", DeriveRequest(transform="inv", languages=("en",)))
    row = json.loads((tmp_path / "qa" / "derived.jsonl").read_text())
    assert row["context"] == "won Lee Ann ."
    assert row["answers"] == {"text": ["Lee Ann"], "start": [4]}


def test_derive_prepared_corpora_and_bitext(tmp_path: Path, text: Path) -> None:
    run(text, "trans+inv")
    again = DeriveRequest(transform="inv", rows=DeriverOptions(side="target"))
    summary = derive_corpus([tmp_path / "out" / "aligned"], tmp_path / "back", again)
    assert summary.rows == 61
    row = json.loads((tmp_path / "back" / "derived.jsonl").read_text().splitlines()[0])
    assert row["target_language"] == "en-x-trans-inv-x-inv"
    assert [i for i, _ in row["links"]] == sorted(i for i, _ in row["links"])
    sides = [tmp_path / "a.en", tmp_path / "a.de"]
    for path, line in zip(sides, ("a b", "c d"), strict=True):
        path.write_text(line + "\n")
    derive_corpus(
        sides, tmp_path / "bi", DeriveRequest(transform="inv", kind="bitext", languages=("en", "de"))
    )
    assert json.loads((tmp_path / "bi" / "derived.jsonl").read_text())["source"] == "b a"


def test_derive_gives_each_language_its_own_pairs_and_lexicon(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a b\tx y\nc\t\n")
    request = DeriveRequest(
        transform="trans", kind="bitext", languages=("en", "de"), rows=DeriverOptions(side="both")
    )
    summary = derive_corpus([path], tmp_path / "out", request)
    aligned, lexicon = (load_corpus(tmp_path / "out" / name) for name in ("aligned", "lexicon"))
    tags = ("source_language", "target_language")
    assert [(row["source"], *(row[t] for t in tags)) for row in aligned] == [
        ("a b", "en", "en-x-trans"),
        ("c", "en", "en-x-trans"),
        ("x y", "de", "de-x-trans"),
    ]
    assert (summary.pairs, summary.entries, summary.language) == (3, 5, "en-x-trans, de-x-trans")
    assert {(row["source"], row["source_language"]) for row in lexicon} == {
        *((word, "en") for word in "abc"),
        *((word, "de") for word in "xy"),
    }
    assert len((tmp_path / "out" / "lexicon.txt").read_text().splitlines()) == 5
    assert not list((tmp_path / "out").glob(".[0-9]*"))


def test_derive_refuses_a_prepared_corpus_of_another_kind_or_language(tmp_path: Path, text: Path) -> None:
    prepare(Source(path=str(text), language="en"), tmp_path / "en", options=PrepareOptions(kind="text"))
    for fields, message in (
        ({"languages": ("de",)}, "got language de, but it was prepared with en"),
        ({"kind": "bitext"}, "holds a prepared text corpus, and bitext or aligned is needed"),
    ):
        with pytest.raises((ConfigurationError, InputError), match=message):
            derive_corpus([tmp_path / "en"], tmp_path / "out", DeriveRequest(transform="inv", **fields))
    source = tmp_path / "pairs.tsv"
    source.write_text("a b\tc d\n")
    prepare(Source(path=str(source), source_language="en", target_language="de"), tmp_path / "pairs")
    with refused(InputError, "/pairs: ", "bitext", "text", 'kind="text"'):
        derive_corpus([tmp_path / "pairs"], tmp_path / "out", DeriveRequest(transform="inv", kind="text"))
    assert not (tmp_path / "out").exists()


def test_derive_takes_a_prepared_treebank_as_text(tmp_path: Path) -> None:
    (trees := tmp_path / "trees.conllu").write_text(
        "1\ta\ta\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    )
    prepare(
        Source(path=str(trees), language="en"), tmp_path / "made", options=PrepareOptions(kind="treebank")
    )
    derive_corpus([tmp_path / "made"], tmp_path / "out", DeriveRequest(transform="inv", kind="text"))
    assert (tmp_path / "out" / "derived.txt").read_text() == "dog a\n"


def test_derive_leaves_nothing_behind_after_mistakes(tmp_path: Path, text: Path) -> None:
    with refused(ConfigurationError, "x.bin: ", "`kind`: text, bitext"):
        derive_corpus([tmp_path / "x.bin"], tmp_path / "out", DeriveRequest(transform="inv"))
    with refused(ConfigurationError, "text data", 'kind="nli"', 'kind="paws"'):
        run(text, "inv", options=TransformOptions(literal=True))
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tword\n\n")
    with refused((InputError, ConfigurationError), "bad.conllu:1: 2 columns"):
        run(bad, "inv")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*partial*"))


def test_derived_language_has_a_tag_of_its_own(tmp_path: Path, text: Path) -> None:
    for tag, message in (("en", "is another language of the corpus"), ("e n", "a code such as qaa")):
        with pytest.raises(ConfigurationError, match=f"derived_lang.*{message}"):
            run(text, "inv", derived_language=tag)
    for tag, side, message in (
        ("de", "source", "is another language of the corpus"),
        ("qaa", "both", 'side="both" derives two languages'),
    ):
        request = DeriveRequest(
            transform="inv", kind="bitext", languages=("en", "de"), derived_language=tag,
            rows=DeriverOptions(side=side),
        )  # fmt: skip
        with refused(ConfigurationError, f'derived_language="{tag}": ', message):
            derive_corpus([text, text], tmp_path / "out", request)
    assert not (tmp_path / "out").exists()


def test_words_of_questions_and_contexts_are_shared_too(tmp_path: Path) -> None:
    context, question = "The cat sleeps on the old mat.", "Where does the cat sleep?"
    answers = [{"text": "old mat", "answer_start": 22}]
    paragraph = {"context": context, "qas": [{"id": "1", "question": question, "answers": answers}]}
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    run(path, "trans", kind="qa", options=TransformOptions(overlap=1.0))
    row = json.loads((tmp_path / "out" / "derived.jsonl").read_text())
    assert row["context"] == "The cat sleeps on the old mat ."
    assert row["question"] == "Where does the cat sleep ?"
