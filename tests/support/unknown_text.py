"""Text in scripts that the tiny tokenizers do not know, and encoders that lack them."""

from __future__ import annotations

from pathlib import Path

from isoglot.testing import tiny_model, tiny_tokenizer

SCRIPTS = {
    "Hangul": "작은 집은 강 근처에 있다",
    "Thai": "บ้านหลังเล็กอยู่ใกล้แม่น้ำ",
    "Georgian": "პატარა სახლი მდინარის პირას დგას",
    "Khmer": "ផ្ទះតូចនៅជិតទន្លេ",
    "Ethiopic": "ትንሹ ቤት በወንዙ አጠገብ ነው",
}
"""The small house stands near the river, in each."""
KNOWN = "ta potamo vidas un jardeno"
"""A sentence whose words the tiny tokenizers know."""
ENGLISH = "the river sees a garden"
FAMILIES = ("bert", "xlm-roberta")
"""WordPiece, of which a word is unknown as a whole, and Unigram, of which a part of a word may be."""


def small_encoder(folder: Path, family: str = "xlm-roberta") -> Path:
    """A tiny encoder's folder."""
    tokenizer = tiny_tokenizer(family)
    tiny_model(family, tokenizer=tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
