"""The aligner that comes with the package: what it links, how large it is, and what may be done with it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys

import pytest
from commands import invoke

import isoglot as iso
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import kept_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.taught import BOX_LANGUAGES, NEAREST, untaught
from isoglot.aligners.load_aligner import aligner_request
from isoglot.checkpoints.folder import BOX_FILE, checkpoint_folder
from isoglot.core.languages import name_of, two_letters
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.modules.load import load_masked_lm

ENGLISH = "the woman buys a small house"
SENTENCES = {
    "de": ("die Frau kauft ein kleines Haus", "0-0 1-1 2-2 3-3 4-4 5-5"),
    "fr": ("la femme achète une petite maison", "0-0 1-1 2-2 3-3 4-4 5-5"),
    "es": ("la mujer compra una casa pequeña", "0-0 1-1 2-2 3-3 4-5 5-4"),
    "ru": ("женщина покупает маленький дом", "1-0 2-1 4-2 5-3"),
    "hi": ("महिला एक छोटा घर खरीदती है", "1-0 2-4 3-1 4-2 5-3"),
    "zh": ("女人 买 了 一 座 小 房子", "1-0 2-1 3-3 3-4 4-5 5-6"),
    "ja": ("女性 は 小さな 家 を 買う", "1-0 2-5 4-2 5-3"),
    "ko": ("여자가 작은 집을 산다", "1-0 2-3 4-1 5-2"),
    "th": ("ผู้หญิง ซื้อ บ้าน หลัง เล็ก", "1-0 2-1 4-4 5-2"),
    "ka": ("ქალი ყიდულობს პატარა სახლს", "1-0 2-1 4-2 5-3"),
    "hy": ("կինը գնում է փոքր տուն", "1-0 2-1 4-3 5-4"),
    "am": ("ሴትየዋ ትንሽ ቤት ትገዛለች", "1-0 2-3 4-1 5-2"),
}


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOGLOT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.mark.parametrize("language", SENTENCES)
def test_box_links_words_of_languages_near_and_far(language: str) -> None:
    sentence, links = SENTENCES[language]
    wanted = set(links.split())
    pair = iso.align(ENGLISH, sentence, words="whitespace", dtype="float32")
    found = set(pair.to_pharaoh().split())
    assert len(wanted & found) >= len(wanted) - 1
    assert len(found - wanted) <= 2


@pytest.mark.slow
def test_box_is_the_aligner_where_none_is_named(tmp_path, caplog) -> None:
    (tmp_path / "pairs.txt").write_text(f"{ENGLISH} ||| {SENTENCES['de'][0]}\n")
    done = invoke(
        "align",
        str(tmp_path / "pairs.txt"),
        "--target-lang",
        "gd",
        "--precision",
        "float32",
        "-o",
        str(tmp_path / "links"),
    )
    assert "box was not taught 'gd'; the nearest language that it was taught is Irish (ga)" in caplog.text
    assert done.exit_code == 0 and (tmp_path / "links").read_text().strip() == SENTENCES["de"][1]
    assert aligner_request().model == "box" and aligner_request(model="box").options.method == "softmax"
    layers = load_masked_lm({"path": "box", "new_head": True}).config.num_hidden_layers
    assert kept_choice("box")["layer"] == 8 and layers == 12  # those above give vectors of sentences


@pytest.mark.slow
def test_box_has_the_links_of_the_unpacked_folder() -> None:
    pairs = [(ENGLISH.split(), sentence.split()) for sentence, _ in SENTENCES.values()]
    kept = EmbeddingOptions.build(**kept_choice("box"), dtype="float32")
    found = list(EmbeddingAligner("box", options=kept).align_pairs(pairs))
    assert found == list(EmbeddingAligner(checkpoint_folder("box"), options=kept).align_pairs(pairs))


@pytest.mark.slow
def test_aligning_loads_neither_transformers_nor_datasets_and_unpacks_nothing(tmp_path) -> None:
    (tmp_path / "pairs.txt").write_text(f"{ENGLISH} ||| {SENTENCES['de'][0]}\n")
    program = (
        "import sys; from isoglot.cli import app\n"
        f"try: app(['align', {str(tmp_path / 'pairs.txt')!r}])\n"
        "finally: print(sorted({'transformers', 'datasets', 'numba', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    own = {**os.environ, "ISOGLOT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=own, check=True
    )
    assert done.stdout.strip() == SENTENCES["de"][1] and done.stderr.splitlines()[-1] == "[]"
    assert not (tmp_path / "cache" / "aligners").exists()


def test_running_text_needs_no_option() -> None:
    assert iso.align("The house.", "房子。").target_words == ["房", "子", "。"]
    assert iso.align("I saw it.", "Ich sah es.").word_pairs[-1] == (".", ".")


def test_gold_links_alone_score_it(tmp_path) -> None:
    rows = [
        {
            "src": ENGLISH.split(),
            "tgt": SENTENCES[code][0].split(),
            "sure": [[int(n) for n in link.split("-")] for link in SENTENCES[code][1].split()],
        }
        for code in ("de", "fr")
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = invoke("score", "--gold", tmp_path / "gold.jsonl", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert row["layer"] == kept_choice("box")["layer"] and row["aer"] < 0.1


@pytest.mark.slow
def test_box_has_no_unknown_letters_in_its_languages() -> None:
    tokenizer = load_tokenizer("box")
    for sentence, _ in SENTENCES.values():
        assert tokenizer.unk_token_id not in tokenizer(sentence)["input_ids"]


def test_box_is_small_and_its_card_goes_with_it() -> None:
    assert BOX_FILE.stat().st_size <= 60_000_000
    card = BOX_FILE.with_suffix(".md").read_text(encoding="utf-8")
    assert (checkpoint_folder("box") / "README.md").read_text(encoding="utf-8") == card
    assert {"MIT", "CC BY 2.0 FR", "CC0"} <= set(re.findall(r"MIT|CC BY 2.0 FR|CC0", card))


def test_box_card_lists_the_languages_that_it_was_taught() -> None:
    card = BOX_FILE.with_suffix(".md").read_text(encoding="utf-8")
    listed = re.findall(r"(\w+)\s\(([a-z]{2})\)", card.partition("- **Base**")[0])
    assert {code for _, code in listed} == BOX_LANGUAGES - {"en"}
    assert all(name_of(code) == name for name, code in listed)


@pytest.mark.parametrize("language", sorted(NEAREST))
def test_a_language_without_lessons_is_near_to_one_that_has_some(language: str) -> None:
    assert language not in BOX_LANGUAGES and NEAREST[language] in BOX_LANGUAGES
    assert two_letters(language) == language  # else the table would not be found
    assert f"({NEAREST[language]})" in (untaught("box", language) or "")


def test_the_page_of_results_names_this_file() -> None:
    page = (BOX_FILE.parents[3] / "docs" / "results" / "box.md").read_text(encoding="utf-8")
    assert hashlib.sha256(BOX_FILE.read_bytes()).hexdigest() in page


def test_a_folder_of_its_name_where_a_command_is_run_is_not_taken_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "config.json").write_text("{}")
    assert iso.align("the house", "das Haus").links == [(0, 0), (1, 1)]
