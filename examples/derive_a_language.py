"""Another script and word order for the same sentences: the derived languages of ALIGN-MLM.

python examples/derive_a_language.py
"""

from isoglot.derivation.base import Sentence
from isoglot.derivation.spec import build

for name in ("trans", "inv", "trans+inv"):
    image = build(name)(Sentence(("The", "dog", "barks", "loudly", ".")), key=0)
    print(f"{name:10} {' '.join(image.words)}")
