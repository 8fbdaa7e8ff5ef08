"""What a run came to, and why: for people at a terminal, and as JSON for machines."""

from rewardhub.report.explain import Explanation, explain
from rewardhub.report.explanation_tree import show_explanation
from rewardhub.report.summary import RunSummary, show_summary

__all__ = ["Explanation", "RunSummary", "explain", "show_explanation", "show_summary"]
