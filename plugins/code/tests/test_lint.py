from pathlib import Path
from typing import Any

import pytest
import rewardhub_code
from rewardhub_code import lint
from rewardhub_code.lint import LONGEST_SOURCE

from rewardhub import Score, UsageError
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/lint").card
F = "`" * 3


def linted(code: str, **options: Any) -> Score:
    return grade(CARD, make_trajectory(f"{F}python\n{code}\n{F}"), options=options)


def test_clean_code_is_worth_one() -> None:
    score = linted("def add(a, b):\n    return a + b")
    assert (score.value, score.reason, score.metrics["issues"]) == (1, "no issue", 0)


def test_each_issue_takes_its_share() -> None:
    score = linted("import os\nprint(y)", max_issues=4)
    assert score.value == 0.5
    assert score.evidence["codes"] == {"F401": 1, "F821": 1}
    assert score.evidence["issues"] == (
        (1, "F401", "`os` imported but unused"),
        (2, "F821", "Undefined name `y`"),
    )


def test_is_worth_nothing_from_the_most_issues_on() -> None:
    assert linted("import os\nimport re\nimport sys", max_issues=2).value == 0


def test_counts_what_is_selected() -> None:
    code = "import os\nx=1"
    assert linted(code, select=["E2"]).evidence["codes"] == {}
    assert linted(code, select=["F", "I"], ignore=["F401"]).evidence["codes"] == {"I001": 1}


@pytest.mark.parametrize(
    "code", ["import os  # noqa", "# ruff: noqa\nimport os", "import os  # noqa: F401"]
)
def test_does_not_heed_comments_that_silence_it(code: str) -> None:
    assert linted(code).metrics["issues"] == 1


def test_does_not_heed_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.toml").write_text('exclude = ["*"]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUFF_CONFIG", str(tmp_path / "ruff.toml"))
    assert linted("import os").metrics["issues"] == 1


def test_code_that_does_not_parse_is_worth_nothing() -> None:
    score = linted("def f(:", max_issues=1000)
    assert (score.value, score.reason) == (0, "the code does not parse")


def test_code_that_is_too_long_is_worth_nothing() -> None:
    assert linted("x = 1\n" * (LONGEST_SOURCE // 6 + 1)).value == 0


def test_refuses_rules_that_ruff_does_not_know_before_a_run() -> None:
    with pytest.raises(UsageError, match="NOPE"):
        linted("x = 1", select=["NOPE"])


def test_says_so_if_ruff_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ruff", None)
    with pytest.raises(UsageError, match="pip install ruff"):
        linted("x = 1")


def breaking(tmp_path: Path, script: str) -> Path:
    path = tmp_path / "ruff"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_linter_that_always_breaks_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = breaking(
        tmp_path, 'case "$(cat)" in "") test -e seen && exit 1; : > seen; exit 0;; esac; exit 1'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lint, "_ruff", lambda: str(path))
    score = linted("x = 1")
    assert (score.status, score.fault) == ("failed", "infrastructure")


def test_what_breaks_the_linter_alone_is_worth_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = breaking(tmp_path, "if [ -n \"$(/bin/cat)\" ]; then kill -9 $$; fi; echo '[]'")
    monkeypatch.setattr(lint, "_ruff", lambda: str(path))
    score = linted("x = 1")
    assert (score.value, score.reason) == (0, "ruff breaks on the code, and lints an empty file")


def test_its_version_has_that_of_ruff() -> None:
    from importlib.metadata import version

    assert version("ruff") in CARD.version
