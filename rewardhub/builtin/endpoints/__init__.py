"""Endpoints that speak OpenAI's chat completions: what judges and policies share."""

from rewardhub.builtin.endpoints.chat import ChatEndpoint, Structured
from rewardhub.builtin.endpoints.reply import ChatReply

__all__ = ["ChatEndpoint", "ChatReply", "Structured"]
