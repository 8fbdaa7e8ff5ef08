"""`rules/language`: the answer is in the language that was asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Self

from pydantic import model_validator

from rewardhub import Grader, Score, TaskError, Trajectory
from rewardhub_rules.answers import answer_of, check_of, empty
from rewardhub_rules.languages import LANGUAGES, code_of, detect

__all__ = ["Language"]

_OF_PROMPT = "prompt"


class Language(Grader):
    """Full marks for an answer in the given language; 0 for another one, or where none is told.

    The language is the option, or what each task says under ``checks.language``: an ISO 639-1
    code (``de``, ``pt-BR``), an English name (``German``), or ``prompt`` for the language of the
    last message of the user. Most of the answer counts; code and addresses in it do not.
    """

    language: str | None = None
    """Code, name, or `prompt`; without it, what the task says."""

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        _ = self._code
        return self

    @cached_property
    def _code(self) -> str | None:
        return None if self.language is None else _code(self.language)

    def grade(self, trajectory: Trajectory) -> Score:
        """Detect the language of the final text."""
        wanted = self._code or self._of_task(trajectory)
        if wanted == _OF_PROMPT:
            found = detect(trajectory.task.prompt)
            if found is None:
                raise TaskError("the language of the prompt cannot be told: say one")
            wanted = found
        text = answer_of(trajectory)
        if not text:
            return empty()
        code = detect(text)
        if code is None:
            return Score.of(0.0, f"no language can be told, {LANGUAGES[wanted]} asked")
        if code == wanted:
            return Score.of(1.0, f"it is in {LANGUAGES[code]}")
        return Score.of(0.0, f"it is in {LANGUAGES[code]}, {LANGUAGES[wanted]} asked")

    @staticmethod
    def _of_task(trajectory: Trajectory) -> str:
        language = check_of(trajectory, "language", "language")
        if not isinstance(language, str):
            raise TaskError(f"`checks.language` is a code or a name, not {language!r:.80}")
        try:
            return _code(language)
        except ValueError as error:
            raise TaskError(f"`checks.language`: {error}") from None


def _code(language: str) -> str:
    """Return the code of a language, or `prompt`.

    Raises:
        ValueError: for one that is not told apart here.
    """
    if language == _OF_PROMPT:
        return language
    code = code_of(language)
    if code is None:
        known = ", ".join(LANGUAGES)
        raise ValueError(
            f"no language `{language:.80}` is told apart here. Say `prompt` or one of: {known}"
        )
    return code
