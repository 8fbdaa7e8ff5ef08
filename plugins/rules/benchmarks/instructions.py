# ruff: noqa: D103, ISC004, RUF001, T201  # a script: its output is its documentation
"""How long a check of IFEval takes, and the check of a language.

Run from the repository root: ``python plugins/rules/benchmarks/instructions.py``. The answer is
one of 300 words. Each of the 25 instructions of IFEval is built once, as in a run, and timed on it;
languages on ten texts in ten languages, each longer than a paragraph and each time a new one, so
that nothing is remembered. Beside them stands the floor: one `re` search over the same answer
for a word that is not there.
"""

from __future__ import annotations

import gc
import itertools
import re
import statistics
import time
from collections.abc import Callable

from rewardhub_rules.instructions import Instruction, instruction_of
from rewardhub_rules.languages import detect

ROUNDS = 9
CHECK_TARGET, LANGUAGE_TARGET = 20e-6, 1e-3

ANSWER = "\n\n".join(
    (
        "<<The harbour in the morning>>",
        "The harbour was quiet in the early hours, before the first boats came in. Nobody had "
        "expected the wind to turn, and yet the nets were full by noon. Prices fell a little; "
        "the buyers from the city took what was left of it, and the *ice house* was shut. " * 2,
        "* The crews mended their gear and spoke about the weather\n"
        "* The **children** counted the crates: 12, 40, and then [number] more",
        "In the evening nobody said that the day had been a bad one. What would the next bring? "
        "Mr. Olsen thought that the wind would hold. His brother, who was older, did not. " * 4,
        "P.S. My answer is maybe. Is there anything else I can help with?",
    )
)

ASKED: dict[str, dict[str, object]] = {
    "keywords:existence": {"keywords": ["harbour", "crates"]},
    "keywords:frequency": {"keyword": "wind", "frequency": 3, "relation": "at least"},
    "keywords:forbidden_words": {"forbidden_words": ["money", "rich", "storm"]},
    "keywords:letter_frequency": {"letter": "q", "let_frequency": 9, "let_relation": "less than"},
    "length_constraints:number_sentences": {"num_sentences": 10, "relation": "at least"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 1},
    "length_constraints:number_words": {"num_words": 200, "relation": "at least"},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": 5,
        "nth_paragraph": 2,
        "first_word": "the",
    },
    "detectable_content:number_placeholders": {"num_placeholders": 1},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:constrained_response": {},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
    "detectable_format:json_format": {},
    "detectable_format:title": {},
    "combination:two_responses": {},
    "combination:repeat_prompt": {"prompt_to_repeat": "Write about a harbour in the morning."},
    "startend:end_checker": {"end_phrase": "Is there anything else I can help with?"},
    "startend:quotation": {},
    "change_case:capital_word_frequency": {
        "capital_frequency": 5,
        "capital_relation": "less than",
    },
    "change_case:english_capital": {},
    "change_case:english_lowercase": {},
    "punctuation:no_comma": {},
}

TEXTS = (
    "Der Hafen war still in den ersten Stunden, bevor die Boote kamen, und niemand sprach. ",
    "Le port était calme aux premières heures, avant l'arrivée des bateaux du matin. ",
    "El puerto estaba tranquilo en las primeras horas, antes de que llegaran los barcos. ",
    "Il porto era silenzioso nelle prime ore, prima che arrivassero le barche. ",
    "Гавань была тиха в ранние часы, прежде чем пришли первые лодки с уловом. ",
    "الميناء هادئ في الساعات الأولى قبل وصول القوارب الأولى من البحر. ",
    "सुबह के शुरुआती घंटों में बंदरगाह शांत था और कोई भी नहीं बोल रहा था। ",
    "朝早く、最初の船が来る前、港は静かでした。誰も話していませんでした。",
    "Bến cảng yên tĩnh trong những giờ đầu, trước khi những con thuyền đầu tiên vào. ",
    "The harbour was quiet in the early hours, before the first boats came in. ",
)


def seconds_of(call: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def of_check(instruction: Instruction) -> float:
    instruction.check(ANSWER)
    return statistics.median(
        seconds_of(lambda: instruction.check(ANSWER), 200) for _ in range(ROUNDS)
    )


def of_language(numbers: itertools.count[int]) -> float:
    times: list[float] = []
    for text in TEXTS * 20:
        fresh = f"{next(numbers)} {text * 5}"
        times.append(seconds_of(lambda fresh=fresh: detect(fresh), 1))  # type: ignore[misc]
    return statistics.median(times)


def main() -> None:
    gc.disable()
    absent = re.compile("lighthouse")
    floor = statistics.median(
        seconds_of(lambda: absent.search(ANSWER), 2000) for _ in range(ROUNDS)
    )
    times = {name: of_check(instruction_of(name, kwargs)) for name, kwargs in ASKED.items()}
    detect(TEXTS[0])
    language = of_language(itertools.count(10))
    median = statistics.median([*times.values(), language])
    slowest = max(times, key=lambda name: times[name])
    print(f"floor    {floor * 1e6:8.1f} us, one search over {len(ANSWER.split())} words")
    print(
        f"check    {median * 1e6:8.1f} us, median of the 25 of IFEval "
        f"(target {CHECK_TARGET * 1e6:.0f}); {median / floor:.1f} floors"
    )
    print(f"slowest  {times[slowest] * 1e6:8.1f} us, {slowest}; the language apart")
    print(
        f"language {language * 1e6:8.1f} us, median of 200 new texts in {len(TEXTS)} languages "
        f"(target {LANGUAGE_TARGET * 1e6:.0f})"
    )


if __name__ == "__main__":
    main()
