"""vLLM's pooling endpoint as a carrier: the same tokens go out, the same positions are read."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rewardhub import InfrastructureError
from rewardhub_prm.encoding import Encoded
from rewardhub_prm.network import BATCH_TOKENS, batches
from rewardhub_prm.presets import Preset, probability

_SLACK = 0.02
"""Shares in bfloat16 miss a sum of 1 by less than this."""


class Server(BaseModel):
    """A vLLM server with ``--runner pooling`` that serves the model of a preset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    """Its address, as `http://localhost:8000`."""
    model: str = Field(min_length=1)
    """The model's name at the server."""
    gives: Literal["shares", "logits"] = "shares"
    """Whether it is asked to apply the model's activation. Either gives the same values; say
    `logits` where the server's own activation is not the preset's."""
    api_key: str | None = Field(default=None, repr=False, exclude=True)
    """The key, as `{env: NAME}`. Local servers need none."""
    timeout: float = Field(default=120.0, gt=0)
    """How many seconds one request may take."""

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(
                f"{value!r} is no address of a server; it looks like `http://localhost:8000`"
            )
        return value.rstrip("/").removesuffix("/pooling")


class ServerSource:
    """Sends rows of token ids to a server, and reads its answer at their positions.

    The server may answer for every token (pooling type ALL) or for its step token only (STEP).

    Args:
        server: where it is.
        preset: whose columns and classes the answer has.
        step_token: what a STEP pooler picks; None where the preset's positions have no such token.
        batch_tokens: how many tokens one request takes.
    """

    def __init__(
        self, server: Server, preset: Preset, step_token: int | None, batch_tokens: int | None
    ) -> None:
        self._server = server
        self._preset = preset
        self._step_token = step_token
        self._batch_tokens = batch_tokens or BATCH_TOKENS["cuda"]

    async def shares(self, rows: Sequence[Encoded]) -> list[list[float]]:
        """Return the shares of the good class; requests of a call go out one after the other.

        Raises:
            InfrastructureError: if the server is down, refuses, or answers in another shape.
        """
        found: list[list[float]] = [[] for _ in rows]
        for batch in batches([len(row) for row in rows], self._batch_tokens):
            asked = [rows[index] for index in batch]
            answers = await asyncio.to_thread(self._ask, [row.ids for row in asked])
            for index, row, answer in zip(batch, asked, answers, strict=True):
                found[index] = self._at_positions(row, answer)
        return found

    def close(self) -> None:
        """Hold nothing: each request has a connection of its own."""

    def _ask(self, ids: Sequence[Sequence[int]]) -> list[Any]:
        body = {
            "model": self._server.model,
            "input": [list(row) for row in ids],
            "task": "token_classify",
            "use_activation": self._server.gives == "shares",
        }
        answer = self._post(body)
        try:
            data = {int(item["index"]): item["data"] for item in answer["data"]}
            return [data[index] for index in range(len(ids))]
        except (KeyError, TypeError, ValueError):
            raise self._broken("its answer is not that of a pooling endpoint") from None

    def _post(self, body: Mapping[str, Any]) -> Any:
        import urllib.error
        import urllib.request
        from http.client import HTTPException

        headers = {"Content-Type": "application/json"}
        if self._server.api_key:
            headers["Authorization"] = f"Bearer {self._server.api_key}"
        request = urllib.request.Request(  # noqa: S310  # the scheme is checked
            f"{self._server.url}/pooling", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=self._server.timeout) as reply:  # noqa: S310
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(2048).decode("utf-8", "replace").strip()
            # What a server refuses for what it is, it refuses again.
            passing = error.code >= 500 or error.code in {408, 429}
            after = error.headers.get("Retry-After", "")
            raise self._broken(
                f"HTTP {error.code}: {said[:300]}",
                passing=passing,
                retry_after=float(after) if after.isdecimal() else None,
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._broken(str(error) or type(error).__name__, passing=True) from None

    def _at_positions(self, row: Encoded, answer: Any) -> list[float]:
        steps = [i for i, number in enumerate(row.ids) if number == self._step_token]
        if not isinstance(answer, list):
            raise self._broken("its answer for a row is no list")
        columns = [at if isinstance(at, list) else [at] for at in answer]
        if len(columns) == len(row):
            picked = [columns[position] for position in row.positions]
        elif self._step_token is not None and len(columns) == len(steps):
            place = {position: at for at, position in enumerate(steps)}
            picked = [columns[place[position]] for position in row.positions]
        else:
            steps_too = f" or one for each of the {len(steps)} step tokens" if steps else ""
            raise self._broken(
                f"it answered with {len(columns)} values for {len(row)} tokens; there must be one "
                f"for each{steps_too}"
            )
        return [self._share(at) for at in picked]

    def _share(self, columns: Sequence[Any]) -> float:
        wanted = self._preset.columns
        if len(columns) != wanted or not all(isinstance(c, int | float) for c in columns):
            raise self._broken(
                f"it gives {len(columns)} numbers at a token, and the preset `{self._preset.name}` "
                f"reads {wanted}. Start it with the pooler that the preset needs"
            )
        numbers = [float(column) for column in columns]
        if not all(map(math.isfinite, numbers)):
            return math.nan
        are_shares = all(0.0 <= number <= 1.0 for number in numbers) and (
            wanted == 1 or abs(math.fsum(numbers) - 1.0) <= _SLACK
        )
        if self._server.gives == "logits":
            return probability(numbers, self._preset.positive)
        if not are_shares:
            raise self._broken(
                f"it gave {numbers} where shares were asked for. Say `gives: logits` in `server`, "
                "if that is what it gives"
            )
        return numbers[self._preset.positive]

    def _broken(
        self, what: str, *, passing: bool = False, retry_after: float | None = None
    ) -> InfrastructureError:
        host = urlsplit(self._server.url)
        return InfrastructureError(
            f"The reward model at {host.scheme}://{host.hostname}"
            f"{f':{host.port}' if host.port else ''} could not be asked: {what}.",
            passing=passing,
            retry_after=retry_after,
        )
