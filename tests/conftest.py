"""What all tests share."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings

from rewardhub.engine.rows import ledger_line, row_digest

# No test depends on a timing: a slow machine is not a failed property.
settings.register_profile("rewardhub", deadline=None)
settings.load_profile("rewardhub")


@pytest.fixture
def write_run(tmp_path):
    """Write a run folder as scoring leaves it: native inputs, and the ledger beside them."""

    def write(*pairs, name="run", inputs=1, order=None):
        """Write a run of pairs (trajectory, reward), and return its folder.

        Each of ``inputs`` gets an equal share of the rows; ``order`` is that of the ledger.
        """
        folder = tmp_path / name
        folder.mkdir()
        size = -(-len(pairs) // inputs) or 1
        lines = []
        paths = [tmp_path / f"{name}-{source}.jsonl" for source in range(inputs)]
        for source, path in enumerate(paths):
            rows = [each.to_json() + b"\n" for each, _ in pairs[source * size :][:size]]
            path.write_bytes(b"".join(rows))
            for row, (data, (each, reward)) in enumerate(
                zip(rows, pairs[source * size :][:size], strict=True), start=1
            ):
                lines.append(ledger_line(each, reward, source, row, row_digest(data)))
        described = {
            "digest": name,
            "spec": {"name": "a/b", "stages": []},
            "inputs": [{"path": str(path), "reader": "native"} for path in paths],
            "mapping": {},
            "facts": None,
        }
        (folder / "run.json").write_text(json.dumps(described))
        kept = lines if order is None else [lines[place] for place in order]
        (folder / "rewards.jsonl").write_bytes(b"".join(kept))
        return folder

    return write
