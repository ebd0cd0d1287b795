"""Remove characters that XML and HTML cannot hold."""

import logging
import re
from pathlib import Path

_LOG = logging.getLogger(__name__)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XmlText:
    r"""A function of text that removes characters which XML forbids, even escaped, and counts them.

    Forbidden are control characters, halves of surrogate pairs, U+FFFE and U+FFFF (XML 1.0, production 2, Char). One of
    them makes a whole file unreadable.

    Example:
        >>> legal = XmlText()
        >>> legal("a\x00b"), legal("\ufffe\n"), legal.dropped
        ('ab', '\n', 2)
    """

    def __init__(self) -> None:
        self.dropped = 0

    def __call__(self, text: str) -> str:
        """Return the text without forbidden characters."""
        text, count = _FORBIDDEN.subn("", text)
        self.dropped += count
        return text

    def warn(self, path: str | Path) -> None:
        """Log how many characters were removed from a file, if any."""
        if self.dropped:
            _LOG.warning("%s: characters that XML does not allow, left out: %d", path, self.dropped)
