"""`text/string-check` and `text/similarity`: one text against another."""

from __future__ import annotations

import importlib
import importlib.util
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import PrivateAttr, field_validator, model_validator

from rewardhub.builtin.templates import OutputError, Template
from rewardhub.contracts import DEFAULT_READS, Grader
from rewardhub.errors import TaskError
from rewardhub.records import Score, Trajectory

TEXT_READS = (*DEFAULT_READS, "task.metadata")
"""What a template may name."""

# Scripts that put no spaces between words are compared character by character.
_SPACELESS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+")
_ROUGE = re.compile(r"rouge_([1-5])")

Metric = Literal[
    "fuzzy_match", "bleu", "gleu", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"
]


class _Compared(Grader):
    """Fills two templates and compares what comes out."""

    input: str = "{{ sample.output_text }}"
    """The text that is graded: a template (`{{ sample.output_text }}`, `{{ item.x }}`)."""
    reference: str = "{{ item.reference }}"
    """The text that it is compared with: a template as well."""
    _templates: tuple[Template, Template] | None = PrivateAttr(default=None)

    @field_validator("input", "reference")
    @classmethod
    def _is_a_template(cls, text: str) -> str:
        Template(text)
        return text

    def grade(self, trajectory: Trajectory) -> Score:
        """Return how the input compares with the reference."""
        if self._templates is None:
            self._templates = Template(self.input), Template(self.reference)
        given, wanted = self._templates
        try:
            return self._compare(given.fill(trajectory), wanted.fill(trajectory))
        except OutputError as error:
            return Score.of(0.0, str(error))

    @abstractmethod
    def _compare(self, given: str, wanted: str) -> Score:
        """Return the Score of the text ``given``."""


class StringCheck(_Compared):
    """Whether a text is, is not or contains another, as OpenAI's `string_check` grader says it.

    `eq` and `ne` compare the whole texts, `like` asks whether the input contains the reference,
    `ilike` the same whatever the case. A task without the named field, or with an empty reference
    for `like` and `ilike` (every text contains it), is fault `task`.
    """

    operation: Literal["eq", "ne", "like", "ilike"] = "eq"
    """How they are compared."""

    def _compare(self, given: str, wanted: str) -> Score:
        if self.operation in ("eq", "ne"):
            equal = given == wanted
            words = "is" if equal else "is not"
            return Score.of(equal == (self.operation == "eq"), f"the text {words} {wanted!r:.80}")
        if not wanted:
            raise TaskError("the reference is empty, and every text contains an empty one")
        fold: Callable[[str], str] = str.casefold if self.operation == "ilike" else str
        contains = fold(wanted) in fold(given)
        words = "contains" if contains else "does not contain"
        return Score.of(contains, f"the text {words} {wanted!r:.80}")


class Similarity(_Compared):
    """How similar two texts are, as OpenAI's `text_similarity` grader measures it.

    `fuzzy_match` is the share of matching characters (the normalised indel similarity of
    rapidfuzz), `bleu` and `gleu` are the sentence scores of nltk (up to four words in a row; BLEU
    with fewer for shorter answers, and smoothed), `rouge_1` to `rouge_5` and `rouge_l` the F1 of
    ROUGE (Lin, 2004), without stemming. Words are compared whatever their case, except by
    `fuzzy_match`; Chinese and Japanese by character. OpenAI does not publish its settings: its
    figures may differ a little. `meteor` (it needs the WordNet data) and `cosine` (an embedding
    model) are refused. A reference that the metric cannot use (no words, or fewer than it counts
    in a row) is fault `task`; an answer without words is a graded 0.
    """

    evaluation_metric: Metric = "fuzzy_match"
    """What is measured."""
    _refused: ClassVar[dict[str, str]] = {
        "meteor": "`meteor` needs the data of WordNet, which is downloaded and not installed",
        "cosine": "`cosine` needs an embedding model, and no grader asks one yet",
    }

    @field_validator("evaluation_metric", mode="before")
    @classmethod
    def _is_possible(cls, metric: Any) -> Any:
        if isinstance(metric, str) and metric in cls._refused:
            raise ValueError(cls._refused[metric])
        return metric

    @model_validator(mode="after")
    def _is_installed(self) -> Similarity:
        module, _ = _METRICS[self.evaluation_metric]
        if module and importlib.util.find_spec(module) is None:
            raise ValueError(
                f"`{self.evaluation_metric}` needs an extra: "
                "`pip install 'rewardhub-core[similarity]'`"
            )
        return self

    def _compare(self, given: str, wanted: str) -> Score:
        metric = self.evaluation_metric
        counted = _ROUGE.fullmatch(metric)
        least = int(counted[1]) if counted else 1
        if len(wanted if metric == "fuzzy_match" else _words(wanted)) < least:
            raise TaskError(f"the reference {wanted!r:.80} is too short for `{metric}`")
        _, measure = _METRICS[metric]
        value = min(1.0, max(0.0, measure(metric, given, wanted)))
        return Score.of(value, f"{metric} {value:.3f}")


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _fuzzy(_metric: str, given: str, wanted: str) -> float:
    fuzz: Any = importlib.import_module("rapidfuzz.fuzz")
    return float(fuzz.ratio(given, wanted)) / 100


def _bleu(_metric: str, given: str, wanted: str) -> float:
    scores: Any = importlib.import_module("nltk.translate.bleu_score")
    words = _words(given)
    if not words:
        return 0.0
    smooth = scores.SmoothingFunction().method1
    references = [_words(wanted)]
    found = scores.sentence_bleu(references, words, smoothing_function=smooth, auto_reweigh=True)
    return float(found)


def _gleu(_metric: str, given: str, wanted: str) -> float:
    scores: Any = importlib.import_module("nltk.translate.gleu_score")
    words = _words(given)
    return float(scores.sentence_gleu([_words(wanted)], words)) if words else 0.0


def _rouge_n(metric: str, given: str, wanted: str) -> float:
    length = int(metric[-1])
    ours, theirs = (_runs(_words(text), length) for text in (given, wanted))
    return _f1((ours & theirs).total(), ours.total(), theirs.total())


def _rouge_l(_metric: str, given: str, wanted: str) -> float:
    sequences: Any = importlib.import_module("rapidfuzz.distance.LCSseq")
    ours, theirs = _words(given), _words(wanted)
    return _f1(int(sequences.similarity(ours, theirs)), len(ours), len(theirs))


def _runs(words: list[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(length)), strict=False))


def _f1(common: int, ours: int, theirs: int) -> float:
    return 2 * common / (ours + theirs) if common else 0.0


_METRICS: dict[str, tuple[str, Callable[[str, str, str], float]]] = {
    "fuzzy_match": ("rapidfuzz", _fuzzy),
    "bleu": ("nltk", _bleu),
    "gleu": ("nltk", _gleu),
    **{f"rouge_{n}": ("", _rouge_n) for n in "12345"},
    "rouge_l": ("rapidfuzz", _rouge_l),
}
"""Metric -> the module that it needs, if any, and how it is measured."""
