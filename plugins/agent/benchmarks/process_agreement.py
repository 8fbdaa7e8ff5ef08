# ruff: noqa: D103, T201  # a script: its output is its documentation
"""Step values beside the human step labels of AgentProcessBench, as they are.

Run from the repository root: ``python plugins/agent/benchmarks/process_agreement.py [FILE]``.
FILE is ``agent_process_bench_hotpotqa.jsonl.gz`` (AgentProcessBench, HotpotQA part: human labels
1, 0 and -1 for each assistant message), by default in ``$REWARDHUB_DATA/prm`` or
``../shared/data/prm``. Labels of 0 (neither good nor bad) are left out of the agreement.
"""

import argparse
import gzip
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import rewardhub_agent

from rewardhub import Score, Trajectory
from rewardhub.testing import grade, make_trajectory, registry_of

DATA = Path(os.environ.get("REWARDHUB_DATA", "../shared/data"))
DEFAULT = DATA / "prm" / "agent_process_bench_hotpotqa.jsonl.gz"
PROCESS = (
    "agent/valid-calls",
    "agent/call-success",
    "agent/no-loops",
    "agent/no-op-free",
    "agent/recovers",
    "agent/progress",
    "agent/stops",
)
REGISTRY = registry_of(rewardhub_agent)


class Pair(NamedTuple):
    """A step's label, and the value that a grader gives it (None: none)."""

    label: int
    value: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=DEFAULT)
    rows = read(parser.parse_args().file)
    labels = [label for row in rows for label in row["step_labels"].values()]
    good, bad = labels.count(1), labels.count(-1)
    print(f"{len(rows)} attempts, {len(labels)} labelled steps: {good} good, {bad} bad,", end=" ")
    print(f"{labels.count(0)} neither")
    print(f"always 1 would agree with {good / (good + bad):.1%}\n")
    print(
        f"{'grader':<20} {'with value':>10} {'agreement':>10} {'mean, good':>11} {'mean, bad':>10}"
    )
    for name in PROCESS:
        print(line(name, [pair for row in rows for pair in pairs(name, row)]))
    print(f"\n{'grader':<20} {'agreement with the final labels':>32}")
    print(f"{'agent/outputs':<20} {final_agreement(rows):>32}")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in gzip.decompress(path.read_bytes()).splitlines()]


def attempt(row: Mapping[str, Any]) -> tuple[Trajectory, list[int]]:
    """Return the attempt, and the index of the message that each of its steps was."""
    steps: list[dict[str, Any]] = []
    places: list[int] = []
    for place, message in enumerate(row["messages"]):
        if message["role"] == "assistant":
            calls = [
                {"id": call["id"], **call["function"]} for call in message.get("tool_calls") or ()
            ]
            steps.append({"text": message["content"], "tool_calls": calls, "observations": []})
            places.append(place)
        elif message["role"] == "tool":
            steps[-1]["observations"].append({"content": message["content"]})
    answers = row["ground_truth"]["target"]
    checks = {
        "outputs": {"told": [answers]},
        "progress": {"milestones": [{"result": answers[0]}, {"said": answers[0]}]},
        "stops": {"done": [{"said": answers[0]}]},
    }
    return make_trajectory(steps, prompt=row["question"], checks=checks), places


def graded(name: str, row: Mapping[str, Any]) -> tuple[Score, list[int]]:
    trajectory, places = attempt(row)
    return grade(REGISTRY.grader(name).card, trajectory), places


def pairs(name: str, row: Mapping[str, Any]) -> Iterator[Pair]:
    score, places = graded(name, row)
    values = {places[each.step]: each.value for each in score.step_values}
    for place, label in row["step_labels"].items():
        yield Pair(label, values.get(int(place)))


def line(name: str, every: list[Pair]) -> str:
    valued = [(label, value) for label, value in every if value is not None and label]
    if not valued:
        return f"{name:<20} {0:>10} {'-':>10} {'-':>11} {'-':>10}"
    agree = sum((value >= 0.5) == (label == 1) for label, value in valued) / len(valued)
    means = [mean([value for label, value in valued if label == which]) for which in (1, -1)]
    return f"{name:<20} {len(valued):>10} {agree:>10.1%} {means[0]:>11} {means[1]:>10}"


def mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "-"


def final_agreement(rows: list[dict[str, Any]]) -> str:
    same = sum(
        (graded("agent/outputs", row)[0].value == 1) == (int(row["final_label"]) == 1)
        for row in rows
    )
    return f"{same} of {len(rows)}"


if __name__ == "__main__":
    main()
