import json
from typing import Any

from rewardhub.builtin.formats import reader_cards
from rewardhub.contracts import ReadOptions
from rewardhub.testing import ReaderContract, make_trajectory

CARDS = {card.name: card for card in reader_cards()}
BROKEN = (b"", b"{", b"[]", b"{}", b'"\xff"', b'{"id": 1.5}')


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def chat(reply: str) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": reply}]
    }


class TestNative(ReaderContract):
    card = CARDS["native"]
    sample = b"\n".join(
        make_trajectory(text, prompt="1+1?", id=text, seconds=1.5).to_json() for text in ("2", "3")
    )
    broken_rows = (*BROKEN, b'{"task": {}, "steps": []}')


class TestChat(ReaderContract):
    card = CARDS["chat"]
    sample = lines(chat("2"), {"id": "own", **chat("<think>hm</think>3")}, chat("2"))
    broken_rows = (*BROKEN, b'{"messages": []}', b'{"messages": [{"role": "user"}]}')


class TestCompletion(ReaderContract):
    card = CARDS["completion"]
    sample = lines({"prompt": "1+1?", "completion": "2"}, {"completion": "3", "level": 5})
    broken_rows = (*BROKEN, b'{"prompt": "1+1?"}', b'{"completion": 2}')


class TestMappedCompletion(ReaderContract):
    card = CARDS["completion"]
    sample = lines({"completion": "", "out": [{"text": "2"}]}, {"out": [{"text": "3"}]})
    broken_rows = (*BROKEN, b'{"completion": "2"}', b'{"out": []}')
    options = ReadOptions(source="sample", mapping={"completion": "out.0.text"})
