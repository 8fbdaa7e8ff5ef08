"""What an endpoint's errors mean: a reply of a kind, or an error that passes or does not."""

from __future__ import annotations

import email.utils
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any

from rewardhub.contracts.resources import FinishReason
from rewardhub.errors import InfrastructureError

_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum (context|model|prompt) length|max_model_len"
    r"|(prompt|input|request)( is|'s)? too (long|large)|too many (input )?tokens"
    r"|(token count|tokens?).{0,60}exceeds? the (maximum|model)|must have less than \d+ tokens"
    r"|reduce the length|exceed_context",
    re.IGNORECASE,
)
"""How OpenAI, Azure, vLLM, SGLang, TGI, llama.cpp, Anthropic, Bedrock and Gemini say it."""

_FILTERED = re.compile(
    r"content[ _](filter|policy|management)|ResponsibleAIPolicy|data_inspection_failed"
    r"|safety (system|setting)",
    re.IGNORECASE,
)

_NEVER_AGAIN = re.compile(r"insufficient_quota|billing|request too large", re.IGNORECASE)
"""Rate limits that do not pass: no credit is left, or one request alone is over the limit."""

_PASSING_STATUS = frozenset({408, 409, 425, 429})


def no_reply(what: str, *, passing: bool = True) -> InfrastructureError:
    """Return the error for an endpoint that ``what``; `fault_of` adds which endpoint it was."""
    return InfrastructureError(what, passing=passing)


def fault_of(error: BaseException, where: str) -> InfrastructureError | FinishReason:
    """Return what an exception of the SDK means.

    Args:
        error: what the SDK raised.
        where: the endpoint and the model, for people.

    Returns:
        A finish reason where the endpoint refused this very question, else an error.
    """
    import openai

    if isinstance(error, InfrastructureError):
        return InfrastructureError(
            f"{where} {error}", retry_after=error.retry_after, passing=error.passing
        )
    if isinstance(error, openai.APIStatusError):
        return _of_status(error.status_code, said(error), error.response.headers, where)
    if isinstance(error, openai.APITimeoutError):
        return InfrastructureError(f"{where} did not answer in time")
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error, where)
    return InfrastructureError(f"{where} broke off: {type(error).__name__}: {str(error)[:300]}")


def said(error: Any) -> str:
    """Return what an endpoint said with an error status."""
    body = error.body if isinstance(error.body, Mapping) else {}
    code = f" ({error.code})" if error.code else ""
    inner = body.get("innererror")
    return f"{body.get('message') or error.message}{code}{f' {inner}' if inner else ''}"[:500]


def _of_status(
    status: int, text: str, headers: Mapping[str, str], where: str
) -> InfrastructureError | FinishReason:
    if status in {400, 413, 422}:
        if status == 413 or _TOO_LONG.search(text):
            return "context_length"
        if _FILTERED.search(text):
            return "content_filter"
    if status in {401, 403}:
        problem = f"{where} refused the key ({status}): {text}. Check `api_key`."
        return InfrastructureError(problem, passing=False)
    if status == 404:
        problem = f"{where} is not there (404): {text}. Check `model` and `base_url`."
        return InfrastructureError(problem, passing=False)
    passing = status >= 500 or status in _PASSING_STATUS
    if status == 429 and _NEVER_AGAIN.search(text):
        passing = False
    return InfrastructureError(
        f"{where} answered {status}: {text}", passing=passing, retry_after=retry_after(headers)
    )


def _of_connection(error: BaseException, where: str) -> InfrastructureError:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            problem = f"{where} shows a certificate that is not trusted: {cause.verify_message}"
            return InfrastructureError(problem, passing=False)
        if isinstance(cause, ssl.SSLError):
            return InfrastructureError(f"{where} does not speak TLS: {cause.reason or cause}")
        if isinstance(cause, socket.gaierror):
            return InfrastructureError(f"{where}: no such host ({cause.strerror})")
        if isinstance(cause, ConnectionRefusedError):
            return InfrastructureError(f"{where}: nobody listens there (connection refused)")
    last = list(_causes(error))[-1]
    return InfrastructureError(f"{where} dropped the connection ({last or type(last).__name__})")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that an endpoint asks to be left alone (RFC 9110, 10.2.3); None: not said.

    It is a number of seconds, or a date. ``retry-after-ms`` is OpenAI's own, and finer.
    """
    try:
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    except ValueError:
        pass
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    date = email.utils.parsedate_tz(value)
    return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())
