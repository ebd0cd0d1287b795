"""Codes and names that data sets use for a language."""

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


def _parse() -> tuple[dict[str, tuple[str, ...]], dict[str, str], dict[str, str]]:
    three, names, scripts = {}, {}, {}
    for code, longer, name, script in re.findall(r"\b([a-z]{2}) ([a-z|]+) ([a-z]+) ([A-Z][a-z]+)", _TABLE):
        three[code] = tuple(longer.split("|"))
        names[name] = code
        scripts[code] = script
    return three, names, scripts


_THREE, NAMES, SCRIPTS = _parse()
"""English names to codes; codes to the script that FLORES has."""


def codes(language: str) -> tuple[str, ...]:
    """The code itself and the ISO 639-3 codes that files may carry instead.

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
    """The ISO 639-1 code, or the code itself where there is none.

    Example:
        >>> two_letters("deu"), two_letters("en-x-inv")
        ('de', 'en-x-inv')
    """
    return next((code for code in codes(language) if len(code) == 2), language)


def same_language(tag: str, second: str) -> bool:
    """Whether two tags or English names are of one language, whatever their regions and scripts.

    Values that are not tags are not compared.

    Example:
        >>> same_language("eng_Latn", "en"), same_language("en", "en-x-inv"), same_language("English", "de")
        (True, False, False)
    """
    first, two = (_base(t) for t in (tag, second))
    return first is None or two is None or first == two


def _base(tag: str) -> tuple[str, str] | None:
    """The language and the private part (``x-…``) of a tag; ``None`` for what is none."""
    head, _, rest = tag.lower().replace("_", "-").partition("-")
    head = NAMES.get(head, head)
    return (two_letters(head), rest.partition("x-")[2]) if re.fullmatch("[a-z]{2,3}", head) else None


def script_codes(language: str) -> list[str]:
    """The names that FLORES and NTREX may have for a language: ISO 639-3 and script.

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
    """The English name with a capital, or the code itself where there is none."""
    return next((name.capitalize() for name, code in NAMES.items() if code == language), language)


def common_code(code: str) -> str:
    """One code for a language, a pair or a derived language that has several.

    Example:
        >>> common_code("deu"), common_code("deu-eng"), common_code("eng-x-inv")
        ('de', 'de-en', 'en-x-inv')
    """
    codes, mark, derived = code.partition("-x-")
    return "-".join(map(two_letters, codes.split("-"))) + mark + derived


def codes_of(languages: str | Iterable[str]) -> list[str]:
    """Codes as users write them: one, several with commas, or a list.

    Example:
        >>> codes_of("en, de"), codes_of(("en", "de")), codes_of("en")
        (['en', 'de'], ['en', 'de'], ['en'])
    """
    tags = [languages] if isinstance(languages, str) else languages
    return [code for tag in tags for part in str(tag).split(",") if (code := part.strip())]
