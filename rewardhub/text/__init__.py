"""Text as every door sees it: normalised, cut from its query, and split into steps."""

from rewardhub.text.facts import DEFAULT_FACTS, TemplateFacts
from rewardhub.text.normalise import Normalised, normalise
from rewardhub.text.response import response_of
from rewardhub.text.steps import Span, StepPlace, split_steps, split_trajectory

__all__ = [
    "DEFAULT_FACTS",
    "Normalised",
    "Span",
    "StepPlace",
    "TemplateFacts",
    "normalise",
    "response_of",
    "split_steps",
    "split_trajectory",
]
