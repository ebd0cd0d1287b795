"""Learn word links from a bitext and print them: no encoder, no downloads.

python examples/align_words.py
"""

from isoglot import StatisticalAligner

ENGLISH = ["the house", "the book", "a house", "a small book", "the small house"]
GERMAN = ["das Haus", "das Buch", "ein Haus", "ein kleines Buch", "das kleine Haus"]

source, target = [text.split() for text in ENGLISH], [text.split() for text in GERMAN]
found = StatisticalAligner("hmm").fit_align_words(source, target)
for words, others, links in zip(source, target, found.links.to_pharaoh(), strict=True):
    pairs = (map(int, link.split("-")) for link in links.split())
    print(", ".join(f"{words[i]} = {others[j]}" for i, j in pairs))
