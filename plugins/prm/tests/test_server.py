"""prm/steps with a pooling server: a small one here answers from the random models."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import rewardhub_prm
import torch
import transformers
from rewardhub_prm import StepRewards
from safetensors.torch import load_file

from rewardhub import Score, UsageError
from rewardhub.testing import grade, make_trajectory

SOLUTION = "One and one are two.\n\nSo: ки.\n\nThe answer is 2."
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class Pooling:
    """A server whose answer a test may change."""

    def __init__(self) -> None:
        self.answer: Answer = lambda body: (200, {})
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append({**body, "path": self.path})
                outer.headers.append(dict(self.headers))
                code, said = outer.answer(body)
                data = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Retry-After", "7")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def pooling() -> Iterator[Pooling]:
    made = Pooling()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@torch.no_grad()
def qwen(folder: Path, ids: Sequence[int]) -> torch.Tensor:
    model = transformers.AutoModel.from_pretrained(folder, trust_remote_code=False).eval()
    head = load_file(folder / "model.safetensors")
    hidden = model(input_ids=torch.tensor([ids]))[0][0]
    inner = torch.relu(hidden @ head["score.0.weight"].T + head["score.0.bias"])
    return inner @ head["score.2.weight"].T + head["score.2.bias"]


@torch.no_grad()
def math_shepherd(folder: Path, ids: Sequence[int]) -> torch.Tensor:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    return model(torch.tensor([ids])).logits[0][:, tokenizer.encode("+ -")[1:]]


SERVED = {"qwen": qwen, "math-shepherd": math_shepherd}
STEP = {"qwen": "<extra_0>", "math-shepherd": "ки"}


def serve(folder: Path, preset: str, pooler: str) -> Answer:
    """What vLLM answers: for each token, or for each step token."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    step = tokenizer.encode(STEP[preset])[-1]

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        data = []
        for index, ids in enumerate(body["input"]):
            found = SERVED[preset](folder, ids)
            if body["use_activation"]:
                found = found.softmax(dim=-1)
            rows = found.tolist()
            if pooler == "STEP":
                rows = [row for row, number in zip(rows, ids, strict=True) if number == step]
            data.append({"index": index, "object": "pooling", "data": rows})
        return 200, {"object": "list", "data": data[::-1]}

    return answer


@pytest.fixture
def scored(folders: dict[str, Path], pooling: Pooling) -> Callable[..., Score]:
    card = next(c for c in rewardhub_prm.rewardhub_graders() if c.name == "prm/steps")

    def run(preset: str = "qwen", reply: str = SOLUTION, **server: Any) -> Score:
        options: dict[str, Any] = {"model": str(folders[preset]), "device": "cpu"}
        if server:
            options["server"] = {"url": pooling.url, "model": "served", **server}
        return grade(card, make_trajectory(reply, prompt="What is 1 + 1?"), options=options)

    return run


@pytest.mark.parametrize("gives", ["shares", "logits"])
@pytest.mark.parametrize("pooler", ["ALL", "STEP"])
@pytest.mark.parametrize("preset", SERVED)
def test_a_server_gives_the_values_of_the_model(
    scored: Callable[..., Score],
    pooling: Pooling,
    folders: dict[str, Path],
    preset: str,
    pooler: str,
    gives: str,
) -> None:
    pooling.answer = serve(folders[preset], preset, pooler)
    served, local = scored(preset, gives=gives), scored(preset)
    pairs = zip(served.step_values, local.step_values, strict=True)
    assert len(served.step_values) == 3
    assert max(abs((a.value or 0) - (b.value or 0)) for a, b in pairs) <= 1e-4


def test_sends_token_ids_and_the_served_name(
    scored: Callable[..., Score], pooling: Pooling, folders: dict[str, Path]
) -> None:
    pooling.answer = serve(folders["qwen"], "qwen", "ALL")
    scored(api_key="secret", gives="logits")
    (asked,) = pooling.asked
    assert asked["path"] == "/pooling"
    assert asked["model"] == "served"
    assert asked["task"] == "token_classify"
    assert asked["use_activation"] is False
    assert all(isinstance(number, int) for number in asked["input"][0])
    assert pooling.headers[0]["Authorization"] == "Bearer secret"


def test_a_key_is_in_no_identity(folders: dict[str, Path]) -> None:
    server = {"url": "http://x", "model": "m", "api_key": "secret"}
    grader = StepRewards(model=str(folders["qwen"]), server=server)  # type: ignore[arg-type]
    assert "secret" not in grader.model_dump_json() + str(grader.identity) + repr(grader)


def test_needs_no_weights_here(pooling: Pooling, folders: dict[str, Path], tmp_path: Path) -> None:
    for path in folders["qwen"].glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "chat_template.jinja").write_bytes(
        (folders["qwen"] / "chat_template.jinja").read_bytes()
    )
    pooling.answer = serve(folders["qwen"], "qwen", "STEP")
    options = {"model": str(tmp_path), "server": {"url": pooling.url, "model": "served"}}
    card = next(c for c in rewardhub_prm.rewardhub_graders() if c.name == "prm/steps")
    score = grade(card, make_trajectory(SOLUTION, prompt="What?"), options=options)
    assert score.status == "graded"


def one(columns: int) -> Answer:
    """An answer of another width."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        rows = [[0.5] * columns for _ in body["input"][0]]
        return 200, {"data": [{"index": 0, "data": rows}]}

    return answer


BROKEN: dict[str, tuple[Answer, str]] = {
    "an error of the server": (lambda body: (500, {"error": "boom"}), "HTTP 500.*boom"),
    "a rate limit": (lambda body: (429, {}), "HTTP 429"),
    "a refusal": (lambda body: (404, {"error": "no such model"}), "HTTP 404.*no such model"),
    "no JSON": (lambda body: (200, b"<html>"), "could not be asked"),
    "another JSON": (lambda body: (200, {"data": []}), "pooling endpoint"),
    "a row that is no list": (lambda body: (200, {"data": [{"index": 0, "data": 1}]}), "no list"),
    "too few values": (
        lambda body: (200, {"data": [{"index": 0, "data": [[0.1, 0.9]]}]}),
        "1 values for",
    ),
    "too many columns": (one(5), "5 numbers at a token"),
    "numbers that are no shares": (
        lambda body: (200, {"data": [{"index": 0, "data": [[3.0, -1.0]] * len(body["input"][0])}]}),
        "gives: logits",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer_is_infrastructure(
    scored: Callable[..., Score], pooling: Pooling, kind: str
) -> None:
    pooling.answer, _ = BROKEN[kind]
    score = scored(timeout=20)
    assert (score.status, score.fault) == ("failed", "infrastructure")
    assert re.search(BROKEN[kind][1], score.reason)


def test_a_server_that_is_down_is_infrastructure(
    scored: Callable[..., Score], pooling: Pooling
) -> None:
    score = scored(url="http://127.0.0.1:9")
    assert (score.status, score.fault) == ("failed", "infrastructure")


def test_a_number_that_is_none_is_the_graders_fault(
    scored: Callable[..., Score], pooling: Pooling
) -> None:
    pooling.answer = lambda body: (
        200,
        {"data": [{"index": 0, "data": [[float("nan")] * 2] * len(body["input"][0])}]},
    )
    assert scored(gives="shares").fault == "grader"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        StepRewards(model="x", server={"url": url, "model": "m"})  # type: ignore[arg-type]


def test_a_model_that_writes_is_refused(folders: dict[str, Path], pooling: Pooling) -> None:
    server = {"url": pooling.url, "model": "m"}
    with pytest.raises(UsageError, match="thinkprm"):
        StepRewards(model=str(folders["thinkprm"]), server=server).open()  # type: ignore[arg-type]
