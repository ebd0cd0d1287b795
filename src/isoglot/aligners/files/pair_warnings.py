"""What is wrong with single pairs, reported without flooding the terminal."""

import logging

_LOG = logging.getLogger(__name__)
_MOST = 20


class Warnings:
    """Reports what is wrong with pairs: one message per pair, and of very many only the first."""

    def __init__(self) -> None:
        self._reported: set[int] = set()

    def __call__(self, number: int, message: str) -> None:
        """Report what is wrong with the pair of this 1-based number."""
        if number in self._reported or len(self._reported) > _MOST:
            return
        self._reported.add(number)
        if len(self._reported) > _MOST:
            _LOG.warning("more warnings of this kind follow; check the input")
        else:
            _LOG.warning("pair %d: %s", number, message)
