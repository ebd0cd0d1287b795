"""Languages derived from others: another script, word order or syntax; ``isoglot.derive(...)`` writes one.

The verb has the name of this package, so the package is called like it: :func:`isoglot.derive.api.derive`.
"""

import sys
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    """A package that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from isoglot.derive.api import derive  # noqa: PLC0415 - the package alone loads nothing

        return derive(*args, **kwargs)


sys.modules[__name__].__class__ = _Verb
