"""Find the placeholders that a translation has to keep: those of known families, and others by regular expressions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import regex

_BRACES = r"(?P<braces>\{(?:[^{}]|(?&braces))*\})"
_CHOICE = regex.compile(
    rf"\{{\s*(?P<name>[\w.-]+)\s*,\s*(?P<kind>plural|select|selectordinal)\s*,(?P<branches>(?:[^{{}}]|{_BRACES})*)\}}"
)
"""A choice of ICU messages: {count, plural, one {# file} other {# files}}."""
_BRANCH = regex.compile(rf"(?P<key>=\d+|\w+)\s*{_BRACES}")

_ARGUMENT = r"""
    \{\{[^{}]*\}\}                                                          # {{name}}
    | \$\{[^{}]+\}                                                          # ${name}
    | \{%.*?%\} | <%.*?%>                                                   # {% if %} <%= name %>
    | \{\s*(?P<formatted>[\w.-]+\s*,\s*(?:number|date|time|spellout|ordinal|duration))\b[^{}]*\}  # {0, date, long}
    | \{[\w.-]*(?:[:,!][^{}\s]*)?\}                                         # {name} {0:N2} {}, also after % or #
    | \[\[[^\[\]]+\]\]                                                      # [[name]]
    | \$[A-Za-z_][A-Za-z0-9_@]*\$ | (?<![\w$])\$[a-z_][A-Za-z0-9_]+         # $NAME$ $name
    | (?<!\w)__[A-Za-z][A-Za-z0-9.]*__                                      # __name__
    | (?<![\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}_:/.)]):[A-Za-z_][A-Za-z0-9_]+  # :name
    | (?<!\w)%\p{L}\w*%                                                     # %name%
"""
_PRINTF = r"""
    (?<![\p{Nd}%])%(?:(?P<position>\d+\$)|(?P<key>\(\w+\)))?
    (?P<conversion>[-+\#0]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[sdiufFeEgGxXoc@])  # %s %1$d %(name)s
"""
_TAG = r"""
    <(?P<slash>/?)(?P<tag_name>[A-Za-z][\w:.-]*|\d+)(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>  # <ph id="1"/> <0>
"""
_IN_ADDRESS = r"[!\#-;=?-~]"
"""A character inside an address: printable ASCII except the space, ``"``, ``<`` and ``>``."""
_WEB_OR_MAIL_ADDRESS = rf"""
    (?:https?|ftp)://{_IN_ADDRESS}*[A-Za-z0-9_/=&\#~-]                      # https://example.org/a?b=c
    | (?<![A-Za-z0-9_.])www\.{_IN_ADDRESS}*[A-Za-z0-9_/]                    # www.example.org
    | (?<![A-Za-z0-9_.@])[A-Za-z0-9][A-Za-z0-9_.+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+  # name@example.org
"""
_ACCELERATOR = r"""
    (?<!&)&(?=[\p{L}\p{N}])(?![A-Za-z0-9]+;)(?!(?<=\p{Lu}&)\p{Lu})          # &File E&xit, but not &amp; or AT&T
"""
_KNOWN = regex.compile(
    rf"(?P<tag>{_TAG}) | (?P<address>{_WEB_OR_MAIL_ADDRESS}) | (?P<argument>{_ARGUMENT})"
    rf" | (?P<printf>{_PRINTF}) | (?P<escape>\\[nrt]) | (?P<accelerator>{_ACCELERATOR})",
    regex.VERBOSE,
)
_MAY_HOLD_ONE = regex.compile(r"[{$<\[%:&\\@_]|www")
"""A quick look: most sentences have no placeholder."""
_TAG_START = regex.compile(r"<(/?)([\w:.-]+)")
_WITH_TEXT = ("hi", "g", "mrk")
"""Elements of TMX and XLIFF with text inside; any other one stands alone, or is a half of a pair (``bpt``, ``ept``)."""
_TAG_ID = regex.compile(r"\b(?:id|x)\s*=\s*[\"']([^\"']*)")


def placeholders(
    text: str, tags: Iterable[str] = (), further: Sequence[regex.Pattern[str]] = ()
) -> Counter[str]:
    """Count the placeholders of a text, and of the in-line tags beside it.

    1. Of a tag, only the name and number count: ``<ph id="1" type="x"/>`` is ``<ph 1>``.
    2. ``%s %s`` stands for ``%1$s %2$s``, and ``{} {}`` for ``{0} {1}``: a translation that numbers them may change
       their order.
    3. Of a choice (``{count, plural, one {# file} other {# files}}``) its argument and the placeholders in its branches
       count once: languages have different plural forms. A ``select`` keeps the names of its branches.
    4. Each match of an expression of ``further`` is a placeholder.
    5. Beside the text, an empty element that has text elsewhere (``<hi/>``) is a pair of tags: XML does not tell it
       from ``<hi></hi>``.

    Example:
        >>> sorted(placeholders('Hi {0}, <ph  id="1" />%s of 50% %s'))
        ['%1$s', '%2$s', '<ph 1>', '{0}']
        >>> sorted(placeholders("{count, plural, one {# file of {name}} other {# files of {name}}}"))
        ['{count, plural}', '{count}', '{name}']
    """
    found: Counter[str] = Counter()
    for tag in tags:
        found[_named_tag(tag)] += 1
        start = _TAG_START.match(tag)
        if start is not None and start[2] in _WITH_TEXT and tag.endswith("/>"):  # 5
            found[_named_tag(f"</{start[2]}>")] += 1
    if _MAY_HOLD_ONE.search(text):
        for choice in _CHOICE.finditer(text):
            found.update(_of_choice(choice))
        found.update(_known(_CHOICE.sub(" ", text)))
    for pattern in further:
        found.update(match.group() for match in pattern.finditer(text))
    return found


def without_placeholders(text: str) -> str:
    """Replace each known placeholder by one neutral character."""
    if not _MAY_HOLD_ONE.search(text):
        return text
    return str(_KNOWN.sub("\ufffc", _CHOICE.sub("\ufffc", text)))


def _known(text: str) -> Iterator[str]:
    """Yield the names of the placeholders of a text without choices."""
    unnumbered = Counter[str]()  # of printf (%) and of braces ({), so far
    for match in _KNOWN.finditer(text):
        written = match.group()
        if match.lastgroup == "tag":
            yield _named_tag(written)
        elif match["formatted"]:
            # {0, date, long}: the style may follow the language.
            name, kind = (part.strip() for part in match["formatted"].split(","))
            yield f"{{{name}, {kind}}}"
        elif match.lastgroup == "printf" and not (match["position"] or match["key"]):
            unnumbered["%"] += 1
            yield f"%{unnumbered['%']}${match['conversion']}"
        elif written == "{}" or written.startswith("{:"):
            yield "{" + str(unnumbered["{"]) + written[1:]  # {0} of {}, {1:N2} of {:N2}
            unnumbered["{"] += 1
        else:
            yield written


def _of_choice(choice: regex.Match[str]) -> Iterator[str]:
    """Yield the argument of a choice, with the branches' names of a select; and each placeholder in them once."""
    inside: set[str] = set()
    keys = []
    for branch in _BRANCH.finditer(choice["branches"]):
        keys.append(branch["key"])
        content = branch["braces"][1:-1]
        # In a plural, # is the number itself, which another language may write {count}.
        if choice["kind"] != "select":
            content = content.replace("#", f"{{{choice['name']}}}")
        inside.update(placeholders(content))
    names = f": {', '.join(sorted(keys))}" if choice["kind"] == "select" else ""
    yield f"{{{choice['name']}, {choice['kind']}{names}}}"
    yield from inside


def _named_tag(tag: str) -> str:
    """Reduce a tag to its name and number: ``<ph 1>`` of ``<ph type="x" id="1"/>``."""
    found = _TAG_START.match(tag)
    if found is None:
        return tag
    number = _TAG_ID.search(tag)
    return f"<{found[1]}{found[2].lower()}{f' {number[1]}' if number else ''}>"
