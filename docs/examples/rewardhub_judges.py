from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardhub import Judge, JudgeCard, JudgeReply, Options, hookimpl


class SameJudge(Options, Judge):
    """Gives the same reply to every question."""

    reply: str = "yes"
    """The reply."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"judge": "same", "reply": self.reply}

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        return JudgeReply(text=self.reply)


@hookimpl
def rewardhub_judges() -> Iterator[JudgeCard]:
    yield JudgeCard(name="example-same", judge=SameJudge)
