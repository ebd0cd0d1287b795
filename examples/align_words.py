"""Learn word links from a bitext and print them: no encoder, no downloads.

python examples/align_words.py
"""

import isoglot as iso

ENGLISH = ["the house", "the book", "a house", "a small book", "the small house"]
GERMAN = ["das Haus", "das Buch", "ein Haus", "ein kleines Buch", "das kleine Haus"]

for pair in iso.align_many(source=ENGLISH, target=GERMAN, method="hmm"):
    print(", ".join(f"{source} = {target}" for source, target in pair.word_pairs))
