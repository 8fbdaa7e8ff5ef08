"""How a grader is called, read from its signature."""

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

from rewardhub import (
    BatchGrader,
    Grader,
    GroupGrader,
    Judge,
    Model,
    Sandbox,
    Score,
    Trajectory,
    Workers,
)
from rewardhub.contracts import read_signature
from rewardhub.errors import GraderDefinitionError

if TYPE_CHECKING:
    from rewardhub import Reader


class Plain(Grader):
    def grade(self, trajectory: Trajectory) -> Score:
        return Score.of(1)


class Bare(Grader):
    def grade(self, trajectory):
        return 1.0


class Asynchronous(Grader):
    async def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> bool:
        return True


class Batched(BatchGrader):
    def grade_batch(self, trajectories: Sequence[Trajectory], *, model: Model) -> list[float]:
        return []


class Grouped(GroupGrader):
    async def grade_group(
        self, trajectories: Sequence[Trajectory], first: Judge, second: Judge
    ) -> list[float]:
        return []


class Several(Grader):
    async def grade(self, trajectory: Trajectory, judges: Mapping[str, Judge]) -> bool:
        return True


class Working(Grader):
    def grade(self, trajectory: Trajectory, workers: Workers) -> float:
        return 1.0


class Inherited(Working):
    limit: int = 3


class Starred(Grader):
    def grade(self, trajectory: Trajectory, *args: object, **kwargs: object) -> float:
        return 1.0


class LocalSandbox(Sandbox):
    pass


class Narrow(Grader):
    def grade(self, trajectory: Trajectory, where: LocalSandbox) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("grader", "shape", "is_async", "slots"),
    [
        (Plain, "grade", False, {}),
        (Bare, "grade", False, {}),
        (Asynchronous, "grade", True, {"sandbox": Sandbox}),
        (Batched, "grade_batch", False, {"model": Model}),
        (Grouped, "grade_group", True, {"first": Judge, "second": Judge}),
        (Several, "grade", True, {"judges": Judge}),
        (Working, "grade", False, {"workers": Workers}),
        (Inherited, "grade", False, {"workers": Workers}),
        (Starred, "grade", False, {}),
        (Narrow, "grade", False, {"where": Sandbox}),
    ],
)
def test_reads_shape_and_resources(grader, shape, is_async, slots):
    signature = read_signature(grader)
    assert (signature.shape, signature.is_async, signature.slots) == (shape, is_async, slots)


def test_knows_which_parameters_take_several_resources():
    assert read_signature(Several).several == {"judges"}
    assert read_signature(Grouped).several == frozenset()


def test_knows_who_asks_for_workers_alone():
    assert read_signature(Working).only_workers
    assert not read_signature(Plain).only_workers
    assert not read_signature(Asynchronous).only_workers


class Untyped(Grader):
    def grade(self, trajectory, helper):
        return 1.0


class Option(Grader):
    def grade(self, trajectory, limit: int):
        return 1.0


class Either(Grader):
    def grade(self, trajectory, sandbox: Sandbox | None):
        return 1.0


class Crowd(Grader):
    def grade(self, trajectory, crowd: Mapping[str, Workers]):
        return 1.0


class Empty(Grader):
    def grade():
        return 1.0


class Hidden(Grader):
    def grade(self, trajectory: Trajectory, reader: "Reader") -> float:
        return 1.0


class Silent(Grader):
    limit: int = 3


@pytest.mark.parametrize(
    ("grader", "said"),
    [
        (Untyped, "a parameter `helper` that is no resource. Annotate it as one of Sandbox, Judge"),
        (Option, "parameter `limit` that is no resource.*make it an option: a field of the class"),
        (Either, "parameter `sandbox` that is no resource"),
        (Crowd, "parameter `crowd` that is no resource"),
        (Empty, "needs a parameter for what it grades"),
        (Hidden, "name 'Reader' is not defined.*outside of `if TYPE_CHECKING`"),
        (Silent, "Silent must define `grade`"),
        (Plain(), "Have you called it"),
        (int, "int is no grader"),
        (Grader, "Grader must define `grade`"),
    ],
)
def test_says_what_is_wrong_with_a_signature(grader, said):
    with pytest.raises(GraderDefinitionError, match=said):
        read_signature(grader)


@pytest.mark.parametrize("future", ["from __future__ import annotations\n", ""])
def test_reads_annotations_of_a_module_that_hides_its_imports(tmp_path, monkeypatch, future):
    source = """
        from typing import TYPE_CHECKING

        from rewardhub import Grader, Sandbox

        if TYPE_CHECKING:
            from rewardhub import Trajectory


        class Sample(Grader):
            limit: int = 3

            def grade(self, trajectory: "Trajectory", sandbox: Sandbox) -> float:
                return 1.0
        """
    name = f"hidden_imports_{len(future)}"
    (tmp_path / f"{name}.py").write_text(future + textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__(name)
    monkeypatch.delitem(sys.modules, name)
    with pytest.raises(GraderDefinitionError, match="name 'Trajectory' is not defined"):
        read_signature(module.Sample)
