"""Codes and English names of languages, as data sets use them."""

import re
from collections.abc import Iterable
from functools import cache

_TABLE = """
af afr afrikaans Latn|am amh amharic Ethi|ar ara|arb arabic Arab|as asm assamese Beng|az azj|aze azerbaijani Latn
be bel belarusian Cyrl|bg bul bulgarian Cyrl|bn ben bengali Beng|br bre breton Latn|bs bos bosnian Latn
ca cat catalan Latn|cs ces czech Latn|cy cym welsh Latn|da dan danish Latn|de deu german Latn|el ell greek Grek
en eng english Latn|es spa spanish Latn|et est|ekk estonian Latn|eu eus basque Latn|fa pes|fas persian Arab
fi fin finnish Latn|fo fao faroese Latn|fr fra french Latn|fy fry frisian Latn|ga gle irish Latn|gd gla gaelic Latn
gl glg galician Latn|gu guj gujarati Gujr|ha hau hausa Latn|he heb hebrew Hebr|hi hin hindi Deva|hr hrv croatian Latn
hu hun hungarian Latn|hy hye armenian Armn|id ind indonesian Latn|is isl icelandic Latn|it ita italian Latn
ja jpn japanese Jpan|jv jav javanese Latn|ka kat georgian Geor|kk kaz kazakh Cyrl|km khm khmer Khmr
kn kan kannada Knda|ko kor korean Hang|ku kmr|kur kurdish Latn|ky kir kyrgyz Cyrl|la lat latin Latn
lb ltz luxembourgish Latn|lo lao lao Laoo|lt lit lithuanian Latn|lv lvs|lav latvian Latn|mg plt|mlg malagasy Latn
mk mkd macedonian Cyrl|ml mal malayalam Mlym|mn khk|mon mongolian Cyrl|mr mar marathi Deva|ms zsm|msa malay Latn
mt mlt maltese Latn|my mya burmese Mymr|ne npi|nep nepali Deva|nl nld dutch Latn|no nob|nor norwegian Latn
oc oci occitan Latn|om gaz|orm oromo Latn|or ory|ori odia Orya|pa pan punjabi Guru|pl pol polish Latn
ps pbt|pus pashto Arab|pt por portuguese Latn|ro ron romanian Latn|ru rus russian Cyrl|sa san sanskrit Deva
sd snd sindhi Arab|si sin sinhala Sinh|sk slk slovak Latn|sl slv slovenian Latn|so som somali Latn
sq als|sqi albanian Latn|sr srp serbian Cyrl|su sun sundanese Latn|sv swe swedish Latn|sw swh|swa swahili Latn
ta tam tamil Taml|te tel telugu Telu|tg tgk tajik Cyrl|th tha thai Thai|tl tgl|fil tagalog Latn|tr tur turkish Latn
tt tat tatar Cyrl|ug uig uyghur Arab|uk ukr ukrainian Cyrl|ur urd urdu Arab|uz uzn|uzb uzbek Latn
vi vie vietnamese Latn|xh xho xhosa Latn|yi ydd|yid yiddish Hebr|yo yor yoruba Latn|zh cmn|zho chinese Hans
zu zul zulu Latn
"""
"""A language: its code of ISO 639-1, its codes of ISO 639-3 (two where data sets disagree), English name and script."""


def _parse() -> tuple[dict[str, tuple[str, ...]], dict[str, str], dict[str, str]]:
    """Read the table: `ar ara|arb arabic Arab` has the codes of ISO 639-1 and 639-3, the name and the script."""
    three_letters, names, scripts = {}, {}, {}
    for code, longer, name, script in re.findall(r"\b([a-z]{2}) ([a-z|]+) ([a-z]+) ([A-Z][a-z]+)", _TABLE):
        three_letters[code] = tuple(longer.split("|"))
        names[name] = code
        scripts[code] = script
    return three_letters, names, scripts


_THREE, NAMES, SCRIPTS = _parse()
"""Two-letter code -> three-letter codes; English name -> two-letter code; two-letter code -> script, as in FLORES."""


def codes(language: str) -> tuple[str, ...]:
    """Return a code, and all other codes of ISO 639 that names of files may have for the same language.

    Example:
        >>> codes("zh"), codes("en-x-inv")
        (('zh', 'cmn', 'zho'), ('en-x-inv',))
    """
    language = language.lower()
    for two, three in _THREE.items():
        if language in three:
            return (language, two, *(t for t in three if t != language))
    return (language, *_THREE.get(language, ()))


@cache
def two_letters(language: str) -> str:
    """Return the ISO 639-1 code of a language, or the given code if there is none.

    Example:
        >>> two_letters("deu"), two_letters("en-x-inv")
        ('de', 'en-x-inv')
    """
    return next((code for code in codes(language) if len(code) == 2), language)


def same_language(first: str, second: str) -> bool:
    """Whether two tags or English names mean the same language, whatever their regions and scripts.

    A value that is no tag and no name of a language cannot be compared, and counts as the same.

    Example:
        >>> same_language("eng_Latn", "en"), same_language("en", "en-x-inv"), same_language("English", "de")
        (True, False, False)
    """
    first_base, second_base = _base(first), _base(second)
    return first_base is None or second_base is None or first_base == second_base


def _base(tag: str) -> tuple[str, str] | None:
    """Return the language and the private part of a tag or name; ``None`` if it is neither.

    ``en-x-inv`` is ``("en", "inv")``, ``English`` is ``("en", "")``.
    """
    head, _, rest = tag.lower().replace("_", "-").partition("-")
    head = NAMES.get(head, head)
    if not re.fullmatch("[a-z]{2,3}", head):
        return None
    return two_letters(head), rest.partition("x-")[2]


def script_codes(language: str) -> list[str]:
    """Return the names that FLORES and NTREX may have for a language: an ISO 639-3 code and a script.

    A language that the table lacks is taken to be in Latin script.

    Example:
        >>> script_codes("zh"), script_codes("de"), script_codes("bho_Deva")
        (['cmn_Hans', 'zho_Hans'], ['deu_Latn'], ['bho_Deva'])
    """
    if "_" in language:
        return [language]
    known = codes(language)
    script = next((SCRIPTS[code] for code in known if code in SCRIPTS), "Latn")
    return [f"{code}_{script}" for code in known if len(code) == 3] or [f"{language}_{script}"]


def name_of(language: str) -> str:
    """Return the English name of a language with a capital, or the given code if there is none.

    Example:
        >>> name_of("de"), name_of("deu"), name_of("xx")
        ('German', 'German', 'xx')
    """
    wanted = two_letters(language)
    return next((name.capitalize() for name, code in NAMES.items() if code == wanted), language)


def common_code(code: str) -> str:
    """Return one code for a language, a pair or a derived language, with two letters where ISO 639-1 has them.

    Example:
        >>> common_code("deu"), common_code("deu-eng"), common_code("eng-x-inv")
        ('de', 'de-en', 'en-x-inv')
    """
    languages, mark, derived = code.partition("-x-")
    return "-".join(map(two_letters, languages.split("-"))) + mark + derived


def split_codes(languages: str | Iterable[str]) -> list[str]:
    """Split the codes of languages as users write them: one, several with commas, or a list.

    Example:
        >>> split_codes("en, de"), split_codes(("en", "de")), split_codes("en")
        (['en', 'de'], ['en', 'de'], ['en'])
    """
    tags = [languages] if isinstance(languages, str) else languages
    found = []
    for tag in tags:
        parts = [part.strip() for part in str(tag).split(",")]
        found += [part for part in parts if part]
    return found
