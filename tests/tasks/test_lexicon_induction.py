from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.tasks import build_task
from isoglot.tasks.text_vectors import TextEncoder
from isoglot.testing import tiny_lexicon


def test_entries_of_several_words_stand_between_tabs(tmp_path: Path) -> None:
    path = tmp_path / "fr-xx.txt"
    path.write_text("10 000\tꣀ ꣁ\nde դե\n")
    data = build_task("lexicon_induction", [str(path)], words="0:0").load("fr-xx", "test")
    assert (data["source"][:], data["target"][:]) == (["10 000", "de"], ["ꣀ ꣁ", "դե"])
    path.write_text("de\t\n")
    with refused(InputError, "fr-xx.txt:1: ", "source", "target"):
        build_task("lexicon_induction", [str(path)]).load("fr-xx", "test")


@pytest.mark.parametrize("blank", ["", " \t ", "\u3000", "\u200b"])
def test_blank_lines_are_passed_over(tmp_path: Path, blank: str) -> None:
    path = tmp_path / "en-de.txt"
    path.write_text(f"{blank}\nhouse\tHaus\n{blank}\ndog Hund\n{blank}\n", encoding="utf-8")
    data = build_task("lexicon_induction", [str(path)], words="0:0").load("en-de", "test")
    assert (data["source"][:], data["target"][:]) == (["house", "dog"], ["Haus", "Hund"])


def test_a_dictionary_of_the_other_direction_is_refused(tmp_path: Path) -> None:
    (tmp_path / "en-de.txt").write_text("house\tHaus\n")
    task = build_task("lexicon_induction", [str(tmp_path / "en-de.txt")], words="0:0")
    assert task.load("en-de", "test")["target"][:] == ["Haus"]
    with refused(InputError, "en-de.txt: ", "en-de, ", "de-en"):
        task.load("de-en", "test")
    with refused(ConfigurationError, "lexicon_induction: ", "en-de", "'en'"):
        task.load("en", "test")


def test_words_are_counted_in_the_whole_dictionary(tmp_path: Path) -> None:
    whole = "".join(f"a{n}\tb{n}\n" for n in range(6))
    (tmp_path / "en-xx.txt").write_text(whole)
    (tmp_path / "en-xx.5000-6500.txt").write_text("a5\tb5\n")
    load = lambda **how: build_task("lexicon_induction", [str(tmp_path)], **how).load("en-xx", "test")  # noqa: E731
    assert load()["source"][:] == ["a5"]
    chosen = load(words="0:2")
    assert [s for s, asked in zip(chosen["source"], chosen["asked"], strict=True) if asked] == ["a0", "a1"]


@pytest.mark.parametrize("over", ["asked", "all"])
def test_words_translations_are_those_of_a_loop(encoder: Path, tmp_path: Path, over: str) -> None:
    lexicon = tiny_lexicon()
    pairs = list(zip(lexicon["source"], lexicon["target"], strict=True))
    pairs += [(pairs[0][0], pairs[3][1]), (pairs[2][0], pairs[5][1])]  # two words have two translations
    (tmp_path / "en-xx.txt").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    task = build_task("lexicon_induction", [str(tmp_path / "en-xx.txt")], words="2:9", csls_over=over)
    found = {r.metric: r.value for r in evaluate_checkpoint(encoder, task, languages=["en-xx"])}
    words, candidates = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    asked = words[2:9]
    encode = TextEncoder(encoder, layer="static")
    x, y = (encode(side).double().numpy() for side in (words, candidates))
    cosine = (x / np.linalg.norm(x, axis=1)[:, None]) @ (y / np.linalg.norm(y, axis=1)[:, None]).T
    near = np.sort(cosine, axis=1)[:, -10:].mean(1)[:, None]
    hubs = np.sort(cosine if over == "all" else cosine[2:9], axis=0)[-10:].mean(0)
    for stem, scores in (("", cosine), ("csls_", 2 * cosine - near - hubs)):
        for k in (1, 5):
            hits = [
                any((word, candidates[j]) in pairs for j in np.argsort(-scores[words.index(word)])[:k])
                for word in asked
            ]
            assert found[f"{stem}precision_at_{k}"] == pytest.approx(100 * sum(hits) / len(asked))
    with refused(ConfigurationError, "words ", "first:end", "'9'"):
        evaluate_checkpoint(
            encoder,
            build_task("lexicon_induction", [str(tmp_path / "en-xx.txt")], words="9"),
            languages=["en-xx"],
        )
    with refused(ConfigurationError, "csls_over: ", "'some'", "all, asked"):
        build_task("lexicon_induction", [], csls_over="some")


def test_a_dictionary_of_unknown_words_is_no_figure(tmp_path: Path, encoder: Path) -> None:
    for row, side in (("house\t𒀀\n", "target"), ("𒀀\thouse\n", "source")):
        (tmp_path / "en-xx.txt").write_text(row, encoding="utf-8")
        task = build_task("lexicon_induction", [str(tmp_path / "en-xx.txt")], words="0:0")
        with refused(ConfigurationError, f"{side} word"):
            task.measure(encoder, task.load("en-xx", "test"), language="en-xx")
