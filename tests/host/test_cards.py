"""Cards say at once what is wrong with them."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from pydantic import BaseModel

from rewardhub import (
    BatchGrader,
    CommandCard,
    EnvironmentCard,
    Grader,
    GraderCard,
    GroupGrader,
    JudgeCard,
    ModelCard,
    Options,
    PolicyCard,
    Reader,
    ReaderCard,
    Sandbox,
    SandboxCard,
    SpecCard,
    WriterCard,
)
from rewardhub.contracts import DEFAULT_READS, Limits, Workers
from rewardhub.errors import GraderDefinitionError
from rewardhub.host import resource_class


class Sample(Grader):
    def grade(self, trajectory):
        return 1.0


class Asynchronous(Grader):
    async def grade(self, trajectory):
        return 1.0


class Boxed(Grader):
    def grade(self, trajectory, sandbox: Sandbox):
        return 1.0


class Working(Grader):
    def grade(self, trajectory, workers: Workers):
        return 1.0


class Grouped(GroupGrader):
    def grade_group(self, trajectories):
        return []


class Batched(BatchGrader):
    def grade_batch(self, trajectories):
        return []


class Rules(BaseModel):
    words: int


def card(**fields):
    return GraderCard(**{"name": "test/sample", "grader": Sample, **fields})


@pytest.mark.parametrize(
    "name", ["sample", "Test/sample", "test/", "/sample", "a/b/c", "test/sam_ple", "test/-x", ""]
)
def test_refuses_a_name_that_is_not_domain_and_what(name):
    with pytest.raises(GraderDefinitionError, match="is called `domain/what` in lower case"):
        card(name=name)


def test_takes_digits_and_hyphens_in_a_name():
    assert card(name="ifeval-2/json-schema3").name == "ifeval-2/json-schema3"


def test_reads_what_every_door_fills_by_default():
    assert card().all_reads == DEFAULT_READS


def test_reads_its_own_checks_whatever_it_lists():
    made = card(reads=("final_text",), checks={"rules": Rules})
    assert made.all_reads == ("final_text", "task.checks.rules")


def test_lists_a_path_once():
    made = card(reads=("final_text", "final_text", "task.checks.rules"), checks={"rules": Rules})
    assert made.all_reads == ("final_text", "task.checks.rules")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"grader": Sample()}, "Have you called it"),
        ({"grader": str}, "str is no grader"),
        ({"reads": ("final_txt",)}, "Did you mean `final_text`"),
        ({"reads": "final_text"}, r'write `reads=\("final_text",\)`'),
        ({"runs_in": "proces"}, "`auto` or `process`, not `proces`"),
        ({"gives": ("step",)}, "`gives` is empty or"),
        ({"group_by": "task.metadata.variant_of"}, "`group_by` is for group graders"),
        ({"grader": Grouped, "group_by": "task.nothing"}, "a task has no `nothing`"),
        ({"max_rows": 0}, "at least 1"),
        ({"max_tokens": 0}, "at least 1"),
        ({"checks": {"rules": dict}}, "`rules` has none"),
        ({"grader": Asynchronous, "runs_in": "process"}, "only a plain `def grade`"),
        ({"grader": Boxed, "runs_in": "process"}, "only a plain `def grade`"),
        ({"grader": Batched, "runs_in": "process"}, "only a plain `def grade`"),
    ],
)
def test_says_what_is_wrong_with_a_grader_card(fields, said):
    with pytest.raises(GraderDefinitionError, match=said):
        card(**fields)


@pytest.mark.parametrize("grader", [Sample, Working])
def test_takes_plain_graders_in_processes(grader):
    made = card(grader=grader, runs_in="process", limits=Limits(cpu_seconds=1.0))
    assert made.runs_in == "process"


def test_takes_a_grouping_of_a_group_grader():
    made = card(grader=Grouped, group_by="task.metadata.variant_of")
    assert made.signature.shape == "grade_group"


def test_stays_as_it_was_made():
    with pytest.raises(FrozenInstanceError):
        card().name = "test/other"


def test_takes_keywords_only():
    with pytest.raises(TypeError):
        GraderCard("test/sample", Sample)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (WriterCard, "writer"),
        (SandboxCard, "sandbox"),
        (JudgeCard, "judge"),
        (ModelCard, "model"),
        (PolicyCard, "policy"),
        (EnvironmentCard, "environment"),
    ],
)
def test_says_that_a_class_does_not_fit(kind, field):
    with pytest.raises(GraderDefinitionError, match=f"must subclass `{field.capitalize()}`"):
        kind(name="x", **{field: type("Odd", (), {})})
    with pytest.raises(GraderDefinitionError, match="Have you called it"):
        kind(name="x", **{field: object()})


def test_says_that_a_reader_is_a_class():
    class Lines(Reader):
        def rows(self, path):
            return iter(())

        def parse(self, row, options):
            raise NotImplementedError

    assert ReaderCard(name="x", reader=Lines, recognises=bool).reader is Lines
    with pytest.raises(GraderDefinitionError, match="Have you called it"):
        ReaderCard(name="x", reader=Lines(), recognises=bool)


def test_demands_options_of_a_resource():
    class Bare(Sandbox):
        pass

    class Checked(Options, Sandbox):
        pass

    assert resource_class(SandboxCard(name="x", sandbox=Checked)) is Checked
    with pytest.raises(GraderDefinitionError, match="must also subclass `Options`"):
        resource_class(SandboxCard(name="x", sandbox=Bare))


@pytest.mark.parametrize(
    "target", ["module", "module:", ":app", "a..b:app", "a.b:app.run", "a-b:c"]
)
def test_refuses_a_command_that_names_no_app(target):
    with pytest.raises(GraderDefinitionError, match=r"`package.module:app`"):
        CommandCard(name="x", target=target)


def test_takes_a_command_by_its_target():
    assert CommandCard(name="x", target="package.module:app").target == "package.module:app"


def test_refuses_a_spec_without_a_domain():
    with pytest.raises(GraderDefinitionError, match="`domain/what`"):
        SpecCard(name="strict", path=Path("x.yaml"))
