"""The kit as pytest fixtures."""

import ast
import subprocess
import sys
from pathlib import Path

from rewardhub import testing
from rewardhub.testing import plugin

USES_EVERY_FIXTURE = """
import rewardhub.testing


def test_fixtures(make_task, make_trajectory, registry_of, fake_judge, fake_sandbox):
    assert make_task("x", reference="4").reference == "4"
    assert make_trajectory("4", task=make_task("x")).final_text == "4"
    assert registry_of().plugins[0].name == "builtin"
    assert fake_judge(["yes"]).kind == "judge"
    assert fake_sandbox("out").kind == "sandbox"
"""


def run_pytest(folder, text):
    (folder / "test_sample.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_offers_each_fixture(tmp_path):
    done = run_pytest(tmp_path, USES_EVERY_FIXTURE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_nothing_of_rewardhub_before_a_fixture_is_used():
    tree = ast.parse(Path(plugin.__file__).read_text())
    imported = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert "rewardhub" not in {module.partition(".")[0] for module in imported}


def test_gives_what_the_kit_gives(make_task, make_trajectory, registry_of, fake_judge):
    assert make_task is testing.make_task
    assert make_trajectory is testing.make_trajectory
    assert registry_of is testing.registry_of
    assert fake_judge is testing.fake_judge


def test_loads_the_plugin_without_the_kit():
    code = (
        "import sys, rewardhub.testing.plugin;"
        "print([name for name in sys.modules if name.startswith('rewardhub.testing.')])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['rewardhub.testing.plugin']"
