"""Text as XML and HTML can hold it."""

import logging
import re
from pathlib import Path

_LOG = logging.getLogger(__name__)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XmlText:
    r"""Leaves out the characters that XML forbids, escaped or not, and counts them.

    Those are control characters, halves of surrogate pairs, U+FFFE and U+FFFF: a single one makes a file unreadable.

    Example:
        >>> legal = XmlText()
        >>> legal("a\x00b"), legal("\ufffe\n"), legal.dropped
        ('ab', '\n', 2)
    """

    def __init__(self) -> None:
        self.dropped = 0

    def __call__(self, text: str) -> str:
        """The text without them."""
        text, count = _FORBIDDEN.subn("", text)
        self.dropped += count
        return text

    def warn(self, path: str | Path) -> None:
        """Report how many were left out of a file."""
        if self.dropped:
            _LOG.warning("%s: characters that XML does not allow, left out: %d", path, self.dropped)
