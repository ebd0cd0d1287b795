"""Words beside a number that change how it is written: powers of ten, hours, halves of the day, short years.

A pattern for words behind a number is matched where the number ends. A pattern for words before a number ends where the
number begins. A word counts as a whole: "mili" in "military" is no million.
"""

import regex

_POWERS: dict[str, tuple[int, ...]] = {
    r"hundreds?|hundert|honderd|hundra|hundre|sata|száz|सौ": (2,),
    r"k|thousands?|tausend|tusen|tusind|duizend|þúsund|mil|mila|mille|mii|milers|tis[íi]c\p{L}*|tys|tysi[ąę]c\p{L}*|"
    r"tūkst\p{L}*|tisoč\p{L}*|tisuć\p{L}*|hiljad\p{L}*|ezer|tuhat\p{L}*|tuhan\p{L}*|bin|min|ribu|nghìn|ngàn|elfu|mijë|"
    r"тыс|тысяч\p{L}*|тис|тисяч\p{L}*|тысяч\p{L}*|хил|хиляд\p{L}*|илјад\p{L}*|хиљад\p{L}*|мянган|мың|χιλ\p{L}*|"
    r"אלף|אלפים|ألف|آلاف|ألفا|الف|هزار|ہزار|हज़ार|हजार|হাজার|ஆயிரம்|ஆயிரத்\p{L}*|వేల\p{L}*|ಸಾವಿರ|ആയിരം|พัน": (3,),
    r"หมื่น": (4,),
    r"lakhs?|लाख|লাখ|লক্ষ|لاکھ|லட்ச\p{L}*|แสน": (5,),
    r"m|mn|mil|mio|mln|mill|mi|milli[oó]n\p{L}*|mill[oó]n\p{L}*|mili[oó]n\p{L}*|milj|miljo\p{L}*|milyon\p{L}*|milh\p{L}+|milió\p{L}*|"
    r"millió\p{L}*|milions|juta|jt|triệu|млн|мил|миллион\p{L}*|мільйон\p{L}*|мільён\p{L}*|милион\p{L}*|сая|"
    r"εκατ|εκατομμ\p{L}*|מיליון|מיליוני|مليون\p{L}*|ملايين|ملیون|میلیون|मिलियन|দশলক্ষ|மில்லியன்|ล้าน": (6,),
    r"crores?|करोड़|करोड|কোটি|کروڑ|கோடி": (7,),
    r"bn|b|mrd|mld|mia|mlrd|milliard\p{L}*|miliard\p{L}*|miliar|miljard\p{L}*|milyar\p{L}*|bilh\p{L}+|tỷ|tỉ|"
    r"млрд|миллиард\p{L}*|мільярд\p{L}*|милијард\p{L}*|милиард\p{L}*|δισ|δισεκ\p{L}*|מיליארד|מיליארדי|"
    r"مليار\p{L}*|مليارات|بليون|میلیارد|अरब|बिलियन|பில்லியன்": (9,),
    # A billion is a thousand million in English, and a million million in German or Spanish.
    r"billi[oó]n\p{L}*|bilion\p{L}*|bilj\p{L}+": (9, 12),
    r"tn|trn|trillion\p{L}*|trilion\p{L}*|трлн|триллион\p{L}*|трильйон\p{L}*|تريليون|تریلیون": (12, 18),
}
"""Powers of ten by the words for them: one language writes "2.4 million", another 2,400,000."""

_EAST_ASIAN_POWERS = {"十": 1, "百": 2, "백": 2, "千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8,
                      "억": 8, "兆": 12, "조": 12}  # fmt: skip

_POWER_WORD = regex.compile(
    rf"[-\s]?(?:(?P<word>{'|'.join(f'(?:{words})' for words in _POWERS)})\b\.?)", regex.IGNORECASE
)
_EACH_POWER = [(regex.compile(words, regex.IGNORECASE), powers) for words, powers in _POWERS.items()]
_RANGE = regex.compile(
    r"\s?(?:至|到|[-–—~〜～]|y|e|et|and|to|und|bis|à|a|до|и)\s?(?=\p{Nd})[\p{Nd}.,]*\p{Nd}", regex.IGNORECASE
)
"""The end of a range, behind its first number: " to 60" of "50 to 60 thousand", 至850 of 600至850亿.

The word behind it is for both numbers.
"""
_CHARACTERS = "".join(_EAST_ASIAN_POWERS)
_EAST_ASIAN = regex.compile(rf"\s?[多余餘几幾数數]?([{_CHARACTERS}]+)")
"""Characters of powers behind a number: 十万 of 20十万, and 万 of 700多万 ("more than 7 million")."""
_MOST_WORDS = 2
"""Words of powers that may follow one another: "2 hundred thousand"."""
_SUM = regex.compile(
    rf"(?<![\p{{Nd}}.,])(?:\p{{Nd}}[\p{{Nd}},]{{0,8}}[{_CHARACTERS}]{{1,3}}\s?)+"
    rf"(?:\p{{Nd}}[\p{{Nd}},]{{0,8}}[{_CHARACTERS}]{{1,3}}|\p{{Nd}}{{3,7}}|\p{{Nd}}{{1,3}}(?:,\p{{Nd}}{{3}})+)(?!\p{{Nd}}|[.,]\p{{Nd}})"
)
"""A number that is a sum of parts: 1億2000万, 5千3百, and 3万5000, whose last part has no power."""
_SPANISH_SUM = regex.compile(r"(?<![\p{Nd}.,])(\p{Nd}{1,3}) mil (\p{Nd}{1,3})(?!\p{Nd}|[.,]\p{Nd}|\smil\b)")
"""Thousands and the rest: "6 mil 74" for 6,074."""
_SCALED = regex.compile(
    r"(?<![\p{Nd}.,:：/至到~〜～–—-])(?P<whole>\p{Nd}{1,3}(?:,\p{Nd}{3})+|\p{Nd}{1,9})(?:[.．](?P<decimals>\p{Nd}{1,9}))?"
    r"\s?[多余餘几幾数數]?(?P<power>[百千]?[万萬만亿億억]+)(?!\p{Nd})"
)
"""A number times a power that cannot be anything else: 230亿, 1.5億, 3百万; not the second number of 600至850亿."""
_ANY_POWER = regex.compile(rf"[{_CHARACTERS}]")
_PART_OF_SUM = regex.compile(rf"(\p{{Nd}}[\p{{Nd}},]*)([{_CHARACTERS}]*)")
"""One part of a sum: the number 2000 and the power 万 of 2000万."""


def powers_after(text: str, position: int) -> list[int]:
    """Find the powers of ten that the words after a number may mean.

    Args:
        text: The text.
        position: End of the number in it.

    Example:
        >>> powers_after("240万人", 3), powers_after("2 hundred thousand men", 1), powers_after("20 military", 2)
        ([4], [2, 5], [])
        >>> powers_after("50 y 100 mil euros", 2), powers_after("700多万度", 3)
        ([3, 6], [4])
    """
    if found := _EAST_ASIAN.match(text, position):
        return [_east_asian_power(found[1])]
    if found := _RANGE.match(text, position):
        return powers_after(text, found.end())
    powers: list[int] = []
    so_far = {0}  # powers that the words so far may mean
    for _ in range(_MOST_WORDS):  # "hundred thousand" of "2 hundred thousand men"
        found = _POWER_WORD.match(text, position)
        if found is None:
            break
        position = found.end()
        # A word may have several powers: "mil" is a thousand in Spanish, and short for a million.
        of_word: set[int] = set()
        for words, powers_of_words in _EACH_POWER:
            if words.fullmatch(found["word"]):
                of_word.update(powers_of_words)
        so_far = {first + second for first in so_far for second in of_word}
        powers += sorted(so_far)
    return powers


def _east_asian_power(characters: str) -> int:
    """The power of ten of characters one behind another: 5 of 十万."""
    return sum(_EAST_ASIAN_POWERS[char] for char in characters)


def in_digits(text: str) -> str:
    """Write 230亿, 1億2000万 and 6 mil 74 in digits.

    230亿 can only be 23,000,000,000, so it must not equal the 230 of "230 billion". The first number of a range stays
    (600至850亿), and so do 千 and 兆 beside a single number, which begin names of units (2千克).

    Example:
        >>> in_digits("1億2000万人 5千3百人 20万，1.5億"), in_digits("3千 4千")
        ('120000000人 5300人 200000 ，150000000', '3千 4千')
        >>> in_digits("6 mil 74 actas")
        '6074 actas'
    """
    if _ANY_POWER.search(text):
        text = _SUM.sub(_added, text)
        text = _SCALED.sub(_multiplied, text)
    if " mil " in text:
        text = _SPANISH_SUM.sub(lambda match: str(1000 * int(match[1]) + int(match[2])), text)
    return text


def _added(match: regex.Match[str]) -> str:
    """Write a number of several parts in digits: 120000000 of 1億2000万.

    A part that is not smaller than the unit of the part before it begins another number: 1億2000万 3万 are two. A
    number of one part stays as it is written.
    """
    numbers: list[list[str]] = []  # the parts of each number
    totals: list[int] = []
    unit_before = 0
    for part in _PART_OF_SUM.finditer(match.group()):
        unit = 10 ** _east_asian_power(part[2])
        value = int(part[1].replace(",", "")) * unit
        if value >= unit_before:
            numbers.append([])
            totals.append(0)
        numbers[-1].append(part.group())
        totals[-1] += value
        unit_before = unit
    if all(len(parts) == 1 for parts in numbers):
        return str(match.group())
    written = [
        parts[0] if len(parts) == 1 else str(total) for parts, total in zip(numbers, totals, strict=True)
    ]
    return f"{' '.join(written)}{_gap_behind(match)}"


def _multiplied(match: regex.Match[str]) -> str:
    """A number times the power of ten behind it: 150000000 of 1.5億."""
    power = _east_asian_power(match["power"])
    whole = match["whole"].replace(",", "")
    shifted = (match["decimals"] or "").ljust(power, "0")
    decimals = shifted[power:]
    return f"{int(whole + shifted[:power])}{f'.{decimals}' if decimals else ''}{_gap_behind(match)}"


def _gap_behind(match: regex.Match[str]) -> str:
    """A space where a comma or point follows, so that 240万，1997年 stays two numbers."""
    return " " if match.string[match.end() : match.end() + 1] in set(".,:．，：") else ""


_DAY_HALF = r"上午|下午|午前|午後|中午|早上|晚上|凌晨|傍晚|正午|夕方|오전|오후|아침|저녁|새벽|[朝夜昼晩밤]"
DAY_HALF = regex.compile(
    rf"\p{{Nd}}\s*[ap]\.?\s?m\b|{_DAY_HALF}|\b(?:morning|afternoon|evening|(?:to)?night|noon|midnight|"
    r"morgens?|vormittags?|mittags?|nachmittags?|abends?|nachts?|matin|après-midi|soir|nuit|mañana|tarde|noche|madrugada|"
    r"manhã|noite|mattin[ao]|pomeriggio|sera|notte|утра|утром|дня|днём|днем|вечера|вечером|ночи|ночью|ранку|вечора|"
    r"صباحا|مساء|ظهرا|صباحًا|مساءً|सुबह|शाम|रात|दोपहर)\b",
    regex.IGNORECASE,
)
"""Words from which a reader knows whether 5 o'clock is 17:00."""
DAY_HALF_AFTER = regex.compile(r"\s*[ap]\.?\s?m\b", regex.IGNORECASE)
DAY_HALF_BEFORE = regex.compile(rf"(?:{_DAY_HALF})\s?$")
LONGEST_DAY_HALF = 3
"""Characters of such a word before a number, with a space."""
HALF_PAST = regex.compile(r"\s?[時时点點시]\s?[半반]")
HALF_UNIT = regex.compile(
    r"\s?(?:年|時間|小时|小時|个小时|個小時|[ヶか个個]月|倍|天|日|周|歳|岁|시간|년)\s?[半반]"
)
HOUR_AFTER = regex.compile(
    r"\s?(?:Uhr|o['’]clock|heures?|h|horas?|hrs?|ч|час\p{L}*|годин\p{L}*|बजे|kl)\b|\s?[時时点點시]",
    regex.IGNORECASE,
)
RANGE_BEFORE_DAY_HALF = regex.compile(
    r"\s*(?:[-–—]|to|and|or|until|till|through)\s*\p{Nd}{1,2}(?:[:.]\p{Nd}{2})?\s*[ap]\.?\s?m\b",
    regex.IGNORECASE,
)
"""After the 2 of "2 to 4 p.m."."""

SHORT_YEAR = regex.compile(
    r"""
    (?<!\p{Nd})['’‘ʼ`](?P<year>\p{Nd}{2})(?!\p{Nd})                                    # '97
    | (?<!\p{Nd})\p{Nd}{4}\s?年?\s?[-–—/~〜～至]\s?(?P<year>\p{Nd}{2})(?!\p{Nd}|[.,:]\p{Nd})    # 1939-45
    | (?<!\p{Nd})\p{Nd}{1,2}([./-])\p{Nd}{1,2}\2(?P<year>\p{Nd}{2})(?!\p{Nd})           # 28.8.09
    | (?<![\p{Nd}.,])(?P<year>\p{Nd}{2})年(?![間后後前目生代来余ぶ以も半])                  # 25年, but not 25年間
    | (?<![\p{Nd}.,])(?P<year>\p{Nd}[0０٠०])(?=                                         # the 90s, die 90er
        后 | ['’]?s\b | -?er(?:n|jahre\p{L}*)?\b | \s?年代 | -?[иые]?[хте]+\b | -luvu | -tal | -talet | -as\b | -es\b
      )
    | \b(?:années|anni|años|anos|anys|anii|ani|lat(?:ach|a)?|jaren|годы)\s(?:\p{Nd}0\s(?:et|y|e|și)\s)?
      (?P<year>\p{Nd}[0٠०])(?!\p{Nd})
    | (?<=\b(?:années|anni|años|anos|anys)\s)(?P<year>\p{Nd}0)(?=\s(?:et|y|e)\s\p{Nd}0\b)
    | \blos\s(?P<year>\p{Nd}0)(?=[.,;)]|\sy\b|\sdel\ssiglo|$)                         # en los 90
    | \bQ[1-4]\s?/\s?(?P<year>\p{Nd}{2})(?!\p{Nd}|[.,:]\p{Nd})                     # Q1/15
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
"""Years without their century, where their form says that they are years. Matches may overlap: années 40 et 50."""

ERA_BEFORE = regex.compile(r"(明治|大正|昭和|平成|令和)\s?$")
YEAR_BEFORE_ERA = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first one of each era: 平成20年 is 2008."""
