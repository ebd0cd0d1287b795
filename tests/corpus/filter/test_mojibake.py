"""Text in a wrong encoding is found whichever encoding it was, and accents, quotation marks and capitals are not."""

from __future__ import annotations

import gzip
import itertools
import os
from pathlib import Path

import pytest

from isoglot.corpus.filter.mojibake import is_mojibake

SENTENCES = (
    "Für die Prüfung müssen wir üben.",
    "L’été dernier, où étiez-vous ?",
    "El niño comió una piña mañana.",
    "Não há informação sobre a eleição.",
    "Proszę, żółw zjadł gęś.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Şu köşe yaz köşesi, güneş doğdu.",
    "Árvíztűrő tükörfúrógép.",
    "Tiếng Việt rất đẹp.",
    "Η γλώσσα είναι ωραία.",
    "Сегодня хорошая погода.",
    "Сьогодні гарна погода, її всі люблять.",
    "Добре дошли в България.",
    "שלום לכולם, מה שלומכם?",
    "مرحبا بكم في مدينتنا",
    "यह एक अच्छा दिन है।",
    "วันนี้อากาศดีมาก",
    "今天天气很好。",
    "今日はいい天気ですね。",
    "오늘은 날씨가 좋네요.",
    "“Don’t,” she said – again…",
)
ENCODINGS = ("latin-1", "cp1252", "cp1251", "mac_roman")
CLEAN = (
    *SENTENCES,
    "FÜR DIE GRÖSSE „Ä“, „Ö“ und „Ü“", "»PÅ« og »FÅ« – ‘Å’", "ETTÄ’S JÄÄ®, JÄÄ– HYÖKKÄÄ…", "ACEASTĂ® CASĂ” CĂMAȘĂ™",
    "IRMÃ, MANHÃ” e AMANHÃ…",
    "À Å Ä Ö ê", "5 Å – 10 Å", "€ 5, £ 6, ¥ 7, 8 ¢, 20 °C, 5 µm, ½ © ® ™ §", "СІРІ ОЧІ, РІСЄ, СЁСТРЫ",
    "НАВУКОЎЦЫ-БІЁЛАГІº", "№ 5 «А» и «Р» – «С»…", "моєї водії її", "√π, 2√3, x ≈ 5, f(x) ƒ", "├── src │ └── a",
    "an ‚Änderung‘ und ‚Äpfel‘", "—Él, ¿qué? ¡Sí!", "manhã» e irmã…", "STĹP ŘÍJEN ŽĎÁR", "ÐÓÐ ÞAÐ er ráðið",
    "Œuvre, cœur, œil",
    "Ångström, Ärzte, Ãguas", "naïve façade, coöperate", "Ça va ? Ô Çelik",
    "Ñandú, AÑO", "ØRSTED, Æble", "Đà Nẵng, ĐẸP",
)  # fmt: skip
MARKS = ("“{}”", "„{}“", "«{}»", "»{}«", "‘{}’", "« {} »", "{}…", "{} – {}", "{}!")


def misread(text: str, encoding: str) -> str:
    """The text in UTF-8, read in another encoding; bytes that it lacks become control characters, as in browsers."""
    characters = []
    for byte in text.encode():
        try:
            characters.append(bytes([byte]).decode(encoding))
        except UnicodeDecodeError:
            characters.append(chr(byte))
    return "".join(characters)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_language_read_in_a_wrong_encoding_is_found(encoding: str) -> None:
    missed = [text for text in SENTENCES if not is_mojibake(misread(text, encoding))]
    assert missed == []


def test_text_misread_twice_and_lost_characters_are_found() -> None:
    twice = [misread(misread(text, "cp1252"), "cp1252") for text in SENTENCES]
    assert all(map(is_mojibake, twice))
    assert is_mojibake("f\ufffdr")


@pytest.mark.parametrize(
    "text",
    ["fÃ¼r", "donâ€™t", "Ã¼ber", "Ãœber", "GRÃ–SSE", "Ã–sterreich", "cafÃ©", "20 Â°C", "Â© 2020", "byÅ‚ bÅ‚Ä…d",
     "niÃ±o", "ï»¿Text", "ðŸ˜€",
     "â€œquoteâ€\x9d", "â‚¬ 5", "fĂĽr", "byĹ‚", "fГјr", "f√ºr", "don‚Äôt", "f├╝r", "donÔÇÖt", "donΓÇÖt"],
)  # fmt: skip
def test_known_examples_are_found(text: str) -> None:
    assert is_mojibake(text)


def test_accents_marks_and_capitals_are_not_taken_for_it() -> None:
    clean = list(CLEAN)
    for sentence, mark in itertools.product(SENTENCES, MARKS):
        clean.append(mark.format(sentence, sentence))
        clean.append(" ".join(mark.format(word, word) for word in sentence.strip(".?!").upper().split()))
    assert len(clean) > 200
    assert [text for text in clean if is_mojibake(text)] == []


@pytest.mark.slow
@pytest.mark.skipif("ISOGLOT_DATA" not in os.environ, reason="needs ISOGLOT_DATA")
def test_few_real_pairs_are_called_mojibake() -> None:
    paths = sorted((Path(os.environ["ISOGLOT_DATA"]) / "parallel").glob("en-*.tsv.gz"))
    assert paths
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = list(itertools.islice(lines, 300))
        found = [row for row in rows if is_mojibake(row)]
        assert len(found) <= 0.005 * len(rows), (path.name, found[:5])
