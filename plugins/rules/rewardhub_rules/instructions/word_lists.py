"""Closed classes of English words, and the names that instructions list."""

from __future__ import annotations

from typing import Final

__all__ = [
    "AFRICAN_COUNTRIES",
    "CONJUNCTIONS",
    "MINOR_WORDS",
    "NORTHERN_CAPITALS",
    "PERSON_NAMES",
    "PRONOUNS",
    "STOP_WORDS",
    "word_set",
]


def word_set(text: str) -> frozenset[str]:
    """Return the words in ``text``, which white space separates."""
    return frozenset(text.split())


CONJUNCTIONS: Final = word_set("and but for nor or so yet")
"""The coordinating ones."""

_PERSONAL = """i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves"""

PRONOUNS: Final = word_set(
    f"""{_PERSONAL} oneself themself thou thee thy thine this that these those who whom whose which
    what whoever whomever whatever whichever anybody anyone anything everybody everyone everything
    nobody nothing somebody someone something each either neither both all some any none"""
)
"""Personal, possessive, reflexive, demonstrative, interrogative, relative and indefinite ones."""

STOP_WORDS: Final = word_set(
    f"""{_PERSONAL} a an the this that these those what which who whom why how when where
    am is are was were be been being have has had having do does did doing can could should will
    would and but if or nor because as until while of at by for with about against between into
    through during before after above below to from up down in out on off over under again further
    then once here there all any both each few more most other some such no not only own same so
    than too very just now cannot"""
)
"""Words that say little of what a text is about: articles, pronouns, prepositions, conjunctions,
auxiliary verbs, and adverbs of degree, place and time."""

MINOR_WORDS: Final = word_set(
    """a an the and but for nor or so yet as at by down from if in into of off on onto out over per
    than that to up upon via vs when with"""
)
"""Words that titles write in small letters: articles, conjunctions and short prepositions."""

PERSON_NAMES: Final = word_set(
    """Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander
    Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella
    Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope
    Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan"""
)
"""The names that the instruction `count:person_names` lists in its text."""

NORTHERN_CAPITALS: Final = (
    ("reykjavik",), ("helsinki",), ("oslo",), ("tallinn",), ("stockholm",), ("riga",), ("moscow",),
    ("copenhagen",), ("vilnius",), ("minsk",), ("dublin",), ("berlin",), ("amsterdam",),
    ("warsaw",), ("london",), ("brussels",), ("kyiv", "kiev"), ("prague",),
    ("luxembourg", "luxembourg city"), ("paris",), ("vienna",), ("bratislava",), ("budapest",),
    ("vaduz",), ("chisinau",), ("bern", "berne"), ("ljubljana",), ("zagreb",),
)  # fmt: skip
"""The capitals of Europe north of 45 degrees, from north to south, each with its spellings."""

_AFRICA: Final = """
algeria, angola, benin, botswana, burkina faso, burundi, cabo verde, cape verde, cameroon,
central african, chad, comoros, congo, brazzaville congo, kinshasa congo, congo brazzaville,
congo kinshasa, dr congo, drc, cote divoire, ivory coast, djibouti, egypt, equatorial guinea,
eritrea, eswatini, swaziland, ethiopia, gabon, gambia, ghana, guinea, guinea bissau, kenya,
lesotho, liberia, libya, madagascar, malawi, mali, mauritania, mauritius, morocco, mozambique,
namibia, niger, nigeria, rwanda, sao tome principe, senegal, seychelles, sierra leone, somalia,
south africa, south sudan, sudan, tanzania, togo, tunisia, uganda, western sahara, sahrawi arab,
zambia, zimbabwe
"""

AFRICAN_COUNTRIES: Final = frozenset(" ".join(name.split()) for name in _AFRICA.split(","))
"""The countries of Africa without accents and without "the", "of", "and" and "Republic"."""
