"""File formats: what is read, what is written, and what a run folder holds."""

from __future__ import annotations

import inspect
import json

from reference_pages.markdown import code, join, read_doc, table
from reference_pages.plugins import registry
from reference_pages.sources import class_source, field_table
from rewardhub.builtin.formats import MAX_ROW_BYTES
from rewardhub.builtin.formats.columns import OPEN_FIELDS, PLACES
from rewardhub.engine import folder
from rewardhub.engine.rows import ledger_line
from rewardhub.host import ReaderCard, WriterCard
from rewardhub.records import Reward, SpecInfo
from rewardhub.testing import make_trajectory
from rewardhub.testing.cases import Case

LEDGER = {
    "schema_version": "of the line",
    "id": "the trajectory's id; default: its place, `file:row`",
    "task": "the task's id",
    "group": "the group that it is compared in",
    "domain": "the task's domain",
    "source": "number of the input file, from 0, in the order of the command",
    "row": "number of the row in that file, from 1",
    "digest": "of the row's bytes: a row that has changed is graded anew",
    "status": "the trajectory's: `completed`, `truncated` or `broken`",
    "steps": "how many steps it has",
    "reward": "the [Reward](api.md#reward), with every Part and its Score",
}
FAILURES = {
    "source": "the input file",
    "row": "number of the row, from 1",
    "error": "why it is no trajectory",
}
IN = f"""
JSON lines, plain or compressed with gzip or zstd, and Parquet. What a file is, is seen by its
first bytes and its first row; where that does not tell, `--reader NAME` does. A row of more than
{MAX_ROW_BYTES // 2**20} MiB is a bad row. How to use them: [score a
file](../how-to/score-a-file.md).
"""
COLUMNS = """
Rows of the readers `chat` and `completion` may have these columns beside their own. `--map
FIELD=COLUMN` fills a field from a column of another name. Null counts as absent; columns that are
none of these are kept in the trajectory's metadata.
"""
OUT = """
`--out FILE` writes the ledger's rows in the format of the file's ending.
"""
RUN = """
`rewardhub score` keeps everything about a run in one folder, and goes on with it when the same
command runs again.
"""
CASES = """
One JSON object per line, read by `rewardhub.testing.check_cases`. How to write them: [test a
grader](../how-to/test-a-grader.md).
"""


def page() -> str:
    """Return the page.

    Raises:
        LookupError: if the ledger has other fields than are described here.
    """
    parts = ["# File formats", "## In", IN, _readers(), "### Columns", COLUMNS, _columns()]
    parts += ["## Out", OUT, _writers(), "## The run folder", RUN]
    parts += [(folder.__doc__ or "").partition("\n\n")[2].strip()]
    parts += ["### A line of the ledger", _ledger(), "### A line of failures.jsonl", _failures()]
    return join(*parts, "## Cases", CASES, field_table(class_source(Case).fields))


def _readers() -> str:
    parts: list[str] = []
    for name, registered in registry().all(ReaderCard).items():
        doc = read_doc(inspect.getdoc(registered.card.reader)).body
        parts.append(join(f"### `{name}`", f"{registered.card.description}.", doc))
    return join(*parts)


def _columns() -> str:
    rows = [
        (
            code(name),
            code(f"{'Task' if place.target == 'task' else 'Trajectory'}.{place.field}"),
            f"`{name}.KEY`" if name in OPEN_FIELDS else "",
        )
        for name, place in PLACES.items()
    ]
    return table(("Column", "Fills", "`--map` key by key"), rows)


def _writers() -> str:
    rows = [
        (code(name), ", ".join(map(code, each.card.suffixes)), each.card.description)
        for name, each in registry().all(WriterCard).items()
    ]
    doc = read_doc(inspect.getdoc(registry().all(WriterCard)["parquet"].card.writer)).body
    return join(table(("Writer", "Endings", ""), rows), "### `parquet`", doc)


def _ledger() -> str:
    attempt = make_trajectory("7", prompt="What is 3 + 4?", id="answers.jsonl:1")
    reward = Reward(1.0, success=True, step_rewards=(1.0,), spec=SpecInfo("math/right", "1"))
    line = json.loads(ledger_line(attempt, reward, 0, 1, "0123456789abcdef"))
    if list(line) != list(LEDGER):
        raise LookupError(f"the ledger has {list(line)}, and {list(LEDGER)} is described")
    return table(("Field", ""), [(code(name), text) for name, text in LEDGER.items()])


def _failures() -> str:
    line = json.loads(folder.failure_line("answers.jsonl", 3, "the row is no JSON"))
    if list(line) != list(FAILURES):
        raise LookupError(f"a failure has {list(line)}, and {list(FAILURES)} is described")
    return table(("Field", ""), [(code(name), text) for name, text in FAILURES.items()])
