"""Two sentences in, links out: raw text, words, saved models, and what stays loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from refusals import refused
from transformers import GPT2Config, GPT2Model

import isoglot as iso
from isoglot.aligners import with_encoder, with_statistics
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError
from isoglot.formats.inline_tags import Tag
from isoglot.formats.words import split_words
from isoglot.testing import tiny_aligned, tiny_bitext, tiny_model, tiny_tokenizer


@pytest.fixture(autouse=True)
def nothing_loaded():
    for remembered in (with_encoder._with_options, with_encoder._encoder, with_statistics._loaded):
        remembered.cache_clear()


def test_words_are_linked_as_the_aligner_links_them(encoder):
    source, target = ["the", "river", "."], ["ta", "potamo", "."]
    pair = iso.align(source, target, model=encoder, method="argmax", layer=2, dtype="float32")
    own = EmbeddingAligner(encoder, method="argmax", layer=2, dtype="float32").align_words(source, target)
    assert pair.links == own.links == list(pair)
    assert pair.probabilities == own.probabilities
    assert pair.score == own.score
    assert pair.to_pharaoh() == " ".join(f"{i}-{j}" for i, j in own.links)
    assert pair.alignment.links == frozenset(own.links)
    assert pair.word_pairs == [(source[i], target[j]) for i, j in own.links]
    assert len(pair) == len(own.links) > 0


def test_running_text_comes_back_with_characters(encoder):
    source, target = "The river, again.", "Ta 大河!"
    pair = iso.align(source, target, model=encoder, method="forward", words="unicode")
    assert pair.source_words == ["The", "river", ",", "again", "."]
    assert pair.target_words == ["Ta", "大", "河", "!"]
    for text, words, spans in (
        (source, pair.source_words, pair.source_spans),
        (target, pair.target_words, pair.target_spans),
    ):
        assert [text[a:b] for a, b in spans] == words
    split = iso.align(source, target.split(), model=encoder, words="whitespace")
    assert split.source_words == source.split()
    assert split.target_words == ["Ta", "大河!"]
    assert split.target_spans == [(0, 2), (3, 6)]


def test_sentence_pairs_keep_what_they_hold_and_get_links(encoder):
    row = iso.SentencePair(("the river", "ta potamo"), id=7, more={"note": "x"}, tags=((Tag(0, "<b/>"),), ()))
    words = iso.SentencePair.of(["the", "river"], ["ta", "potamo"], links=[(1, 0)], sure=[(0, 0)])
    linked = iso.align_many([row, words], model=encoder, layer=2, method="argmax")
    assert [(pair.id, pair.more, pair.tags) for pair in linked] == [
        (7, row.more, row.tags),
        (None, {}, ((), ())),
    ]
    (direct,) = iso.align_many([("the river", "ta potamo")], model=encoder, layer=2, method="argmax")
    assert linked[0].links == linked[1].links == direct.links
    assert linked[1].sure == words.sure
    assert not row.links and words.links == [(1, 0)], "and the pairs of the caller stay as they were"


@pytest.mark.parametrize("kind", ["embedding", "statistical"])
def test_two_aligners_over_the_same_pairs_keep_their_links_apart(encoder, kind):
    pairs = [iso.SentencePair.of(["the", "river"], ["ta", "potamo"], links=[(1, 0)], probabilities=[0.5])] * 2
    if kind == "embedding":
        aligners = [EmbeddingAligner(encoder, layer=2, method=method) for method in ("argmax", "forward")]
    else:
        rows = tiny_bitext(20)
        sides = [[text.split() for text in rows[name]] for name in ("source", "target")]
        aligners = [StatisticalAligner("fast_align").fit_words(*sides) for _ in range(2)]
    first, second = (list(aligner.align_pairs(pairs)) for aligner in aligners)
    assert len({id(pair) for pair in (*pairs[:1], *first, *second)}) == 5
    assert pairs[0].links == [(1, 0)] and pairs[0].probabilities == [0.5]


def test_a_pair_without_links_is_true():
    assert iso.SentencePair.of("a", "b") and not len(iso.SentencePair.of("a", "b"))


def test_the_same_encoder_is_loaded_once(encoder, monkeypatch):
    loads = []
    original = EmbeddingAligner.__init__
    monkeypatch.setattr(
        EmbeddingAligner, "__init__", lambda self, *a, **k: loads.append(a) or original(self, *a, **k)
    )
    words = (["the", "river"], ["ta", "potamo"])
    first = iso.align(*words, model=encoder)
    assert iso.align(*words, model=str(encoder)) == first
    iso.align(*words, model=encoder, method="match")
    iso.align(*words, model=encoder, method="argmax", layer=1)
    assert len(loads) == 1
    iso.align(*words, model=encoder, dtype="bfloat16")
    assert len(loads) == 2
    for layer in range(4):
        iso.align(*words, model=encoder, layer=layer)
    assert len(loads) == 2
    assert with_encoder._with_options.cache_info().currsize == with_encoder._CAPACITY
    assert with_encoder._with_options.cache_info().hits == 1  # the second call of all is the first again


def test_a_new_checkpoint_in_the_folder_is_seen(tmp_path):
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    tiny_model("bert", seed=0).save_pretrained(tmp_path)
    words = (["the", "old", "river", "sees"], ["ta", "velha", "potamo", "vidas"])
    before = iso.align(*words, model=tmp_path, method="forward", dtype="float32")
    tiny_model("bert", seed=5).save_pretrained(tmp_path)
    after = iso.align(*words, model=tmp_path, method="forward", dtype="float32")
    fresh = EmbeddingAligner(tmp_path, method="forward", dtype="float32").align_words(*words)
    assert after.probabilities == fresh.probabilities != before.probabilities


def test_a_saved_statistical_model_aligns(tmp_path, encoder):
    corpus = tiny_aligned(60)
    aligner = StatisticalAligner().fit(corpus)
    aligner.save(tmp_path)
    source, target = corpus[0]["source_words"], corpus[0]["target_words"]
    pair = iso.align(source, target, model=tmp_path)
    assert pair == aligner.align_words(source, target)
    assert pair.links == [tuple(link) for link in aligner.tables([source], [target]).links.lists()[0]]
    both = iso.align(source, target, model=tmp_path, symmetrisation="intersect")
    assert set(both.links) <= set(pair.links)


def test_text_is_cut_as_asked_or_as_the_aligner_was_trained(tmp_path, encoder):
    """Word numbers are those of `isoglot align`: a zero-width space is no white space there."""
    assert iso.align("the river.", "ta", model=encoder).source_words == ["the", "river", "."]
    pair = iso.align("the\u200briver is", "ta potamo", model=encoder, words="whitespace")
    assert pair.source_words == ["the\u200briver", "is"]
    assert pair.source_spans == [(0, 9), (10, 12)]
    StatisticalAligner(words="unicode").fit_words([["the", "."]], [["ta", "."]]).save(tmp_path / "model")
    with refused(ConfigurationError, "/model ", 'words="unicode"', "`words`"):
        iso.align("the.", "ta.", model=tmp_path / "model", words="whitespace")
    found = iso.align("the.", "ta.", model=tmp_path / "model")
    assert found.links == iso.align(["the", "."], ["ta", "."], model=tmp_path / "model").links


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"source": [["the"], ["a"]], "target": [["ta"], ["un"]]}, r"\['the'\].*isoglot\.align_many\("),
        ({"source": ["the", "a river"]}, r"'a river'.*isoglot\.align_many\("),
        ({"source": {"a", "river"}}, r"got \{.*'river'"),
        ({"source": {"text": "a river"}}, r"got \{'text': 'a river'\}"),
        ({"source": b"\xff"}, r"b'\\xff'.*value\.decode\('cp1252'\)"),
        ({"source": "\ud800"}, r"got '\\ud800'"),
        ({"source": ["\ud800"]}, r"'\\ud800'.*isoglot\.align_many\("),
        ({"layr": 2}, "`layr`.*did you mean 'layer'"),
        ({"method": "eflomall"}, "`method`.*'eflomall'; did you mean 'eflomal'"),
        ({"method": "eflomal"}, r"'eflomal'.*align_many\(pairs, method='hmm'\)"),
        ({"model": "no/such/folder"}, r"no/such/folder.*config\.json"),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value),
)
def test_align_refuses(encoder, wrong, named):
    given = {"source": "the", "target": "ta", "model": encoder, **wrong}
    with pytest.raises(ConfigurationError, match=named):
        iso.align(given.pop("source"), given.pop("target"), **given)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"method": "itermax"}, 'method="itermax": .*fast_align'), ({"layer": 8}, "`layer`")],
)
def test_align_refuses_options_that_a_saved_model_has_not(tmp_path, options, named):
    StatisticalAligner().fit_words([["the"]], [["ta"]]).save(tmp_path)
    with pytest.raises(ConfigurationError, match=named):
        iso.align("the", "ta", model=tmp_path, **options)


def test_align_many_refuses_a_path(tmp_path):
    with refused(ConfigurationError, f"isoglot align {tmp_path}"):
        iso.align_many(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [False, True])
def test_threads_get_the_links_of_one(saved, encoder, tmp_path, monkeypatch):
    """Of sixteen threads one loads the model; each gets what it gets alone."""
    corpus = tiny_aligned(60)
    if saved:
        StatisticalAligner().fit(corpus).save(tmp_path / "model")
    loads = []
    kind = StatisticalAligner if saved else EmbeddingAligner
    original = kind.__init__
    monkeypatch.setattr(kind, "__init__", lambda self, *a, **k: loads.append(a) or original(self, *a, **k))

    def link(row):
        pair = corpus[row]["source_words"], corpus[row]["target_words"]
        return iso.align(*pair, model=tmp_path / "model" if saved else encoder)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(16) as threads:
            found = list(threads.map(link, range(60)))
    finally:
        sys.setswitchinterval(interval)
    assert len(loads) == 1
    assert found == [link(row) for row in range(60)]


def test_threads_get_the_links_of_many_pairs(encoder):
    corpus = tiny_aligned(64)
    words = list(zip(corpus["source_words"], corpus["target_words"], strict=True))
    parts = [words[start::8] for start in range(8)]
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda part: iso.align_many(part, model=encoder), parts))
    assert found == [iso.align_many(part, model=encoder) for part in parts]


@pytest.mark.slow
def test_a_statistical_model_loads_no_torch_and_an_encoder_no_numba(tmp_path, encoder):
    StatisticalAligner().fit(tiny_aligned(20)).save(tmp_path / "model")
    code = (
        "import sys, isoglot\n"
        "for model in sys.argv[1:]:\n"
        "    isoglot.align('the river', 'ta potamo', model=model)\n"
        "    print(*(name for name in ('torch', 'transformers', 'datasets', 'numba') if name in sys.modules))\n"
    )
    for models, loaded in (
        ([tmp_path / "model"], ["numba"]),
        (["box", encoder], ["torch", "torch transformers"]),
    ):
        run = subprocess.run(
            [sys.executable, "-c", code, *map(str, models)], capture_output=True, text=True, check=True
        )
        assert run.stdout.splitlines() == loaded


def test_align_is_the_function_however_it_was_imported():
    code = (
        "import isoglot.aligners.alignment as a, isoglot\n"
        "assert callable(isoglot.align) and isoglot.aligners.alignment is a\n"
        "from isoglot import align\nassert align is isoglot.align\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_and_signature_are_those_of_the_function():
    import inspect
    import pydoc

    parameters = inspect.signature(iso.align).parameters
    assert parameters["words"].default is None
    page = pydoc.plain(pydoc.render_doc(iso.align))
    assert "align(" in page
    assert "Link the words of two sentences." in page
    assert not {"Any", "import_module"} & set(dir(iso))
    assert {"align", "pretrain", "__version__"} <= set(dir(iso))


@pytest.mark.parametrize("words", ["unicod", "jieba", "", 5])
def test_a_way_of_cutting_that_does_not_exist_is_refused(words, encoder):
    for call in (
        lambda: iso.align("a b", "c d", model=encoder, words=words),
        lambda: iso.align(["a"], ["c"], model=encoder, words=words),
        lambda: iso.align_many([("a b", "c d")], method="hmm", words=words),
        lambda: StatisticalAligner("hmm", words=words),
        lambda: split_words("a b", mode=words),
    ):
        with refused(ConfigurationError, f"words: got {words!r}", "unicode"):
            call()


def test_a_tokenizer_needs_its_model(encoder, tmp_path):
    tokenizer, other = tiny_tokenizer("bert"), tiny_tokenizer("roberta")
    with refused(ConfigurationError, "tokenizer", "model="):
        iso.align("the river", "ta potamo", tokenizer=tokenizer)
    for make in (EmbeddingAligner, iso.TextEncoder):
        with refused(ConfigurationError, "tokenizer", "box"):
            make("box", tokenizer=tokenizer)
    model = tiny_model("bert")
    for call in (
        lambda: iso.align("the river", "ta potamo", model=model, tokenizer=other),
        lambda: iso.TextEncoder(model, tokenizer=other),
        lambda: EmbeddingAligner(model, tokenizer=other),
        lambda: iso.evaluate(model, "tatoeba", languages="en-xx", data=tiny_bitext(4), tokenizer=other),
        lambda: iso.load_masked_lm(encoder, tokenizer=other),
    ):
        with refused(ConfigurationError, f"{model.config.vocab_size} ", f"{len(other)} "):
            call()
    saved = StatisticalAligner("hmm").fit_words([["a"]], [["b"]])
    saved.save(tmp_path / "hmm")
    for options in ({"model": tmp_path / "hmm"}, {"method": "hmm"}):
        with refused(ConfigurationError, "tokenizer: "):
            iso.align_many([("a", "b")], tokenizer=tokenizer, **options)


def test_a_decoder_is_noted(caplog, tmp_path):
    tokenizer = tiny_tokenizer("bert")
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, bos_token_id=None, eos_token_id=None
    )
    GPT2Model(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for given in ({"model": GPT2Model(config), "tokenizer": tokenizer}, {"model": tmp_path}):
        assert iso.align("the river", "ta potamo", layer=2, **given).links
        assert "gpt2 is a decoder" in caplog.text
        caplog.clear()
    iso.align("the river", "ta potamo", model=tiny_model("bert"), tokenizer=tokenizer)
    assert "decoder" not in caplog.text


FORKED = """
import multiprocessing

import isoglot as iso
from isoglot.testing import tiny_model, tiny_tokenizer

ENCODER = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert"), "layer": 2}
PAIR = "the river is deep and the house is small", "ta potamo bathy kai to spiti mikro"


def links(_):
    return iso.align(*PAIR, **ENCODER).to_pharaoh()


before = links(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map_async(links, [0]).get(timeout=300) == [before]
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_processes_that_are_forked_later_have_the_same_links(tmp_path):
    (tmp_path / "forked.py").write_text(FORKED)
    # a command that ran in this process before has said that tokenizers need not expect forks
    kept = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    environment = {**kept, "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "forked.py"], cwd=tmp_path, env=environment, check=True, timeout=600)
