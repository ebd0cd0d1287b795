"""``${NAME}`` in recipes and studies: the text that an environment variable stands for."""

import os
import re

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def expand(text: str) -> str:
    """A text with environment variables replaced; one that is not set stays as it is."""
    return VARIABLE.sub(lambda match: os.environ.get(match[1], match[0]), text)


def unset(text: str) -> list[str]:
    """The environment variables that a text names and that are not set, each once."""
    return [name for name in dict.fromkeys(VARIABLE.findall(text)) if name not in os.environ]
