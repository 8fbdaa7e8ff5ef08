"""Each hook, implemented by the example that its page shows."""

import asyncio
import io
from pathlib import Path

import pytest

from rewardhub import (
    AttackCard,
    CommandCard,
    Engine,
    EnvironmentCard,
    GraderCard,
    Job,
    JudgeCard,
    ModelCard,
    PolicyCard,
    ReaderCard,
    ReadOptions,
    SandboxCard,
    SpecCard,
    Step,
    TaskSourceCard,
    ToolCall,
    WriterCard,
    discover,
)
from rewardhub.errors import InfrastructureError, RowError
from rewardhub.host import hookspecs
from rewardhub.testing import grade, make_task, make_trajectory

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def registry_with(hook):
    """Return a registry with the example of a hook as a loose file, which must not be broken."""
    path = EXAMPLES / f"{hook}.py"
    registry = discover(loose=[path])
    (source,) = (each for each in registry.plugins if each.name == str(path))
    assert source.error is None
    return registry


def card_of(hook, kind):
    """Return the one card of its kind that the example of a hook brings."""
    owned = registry_with(hook).all(kind).values()
    (card,) = (each.card for each in owned if each.owner.name.startswith(str(EXAMPLES)))
    return card


def test_every_hook_has_an_example():
    hooks = {name for name in vars(hookspecs) if name.startswith("rewardhub_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == hooks


@pytest.mark.parametrize(("hook", "kind"), hookspecs.CARDS.items())
def test_a_registration_hook_brings_cards_of_its_kind(hook, kind):
    assert isinstance(card_of(hook, kind), kind)


def test_rewardhub_graders_brings_a_grader():
    card = card_of("rewardhub_graders", GraderCard)
    assert grade(card, make_trajectory("two words"), options={"limit": 2}).value == 1.0
    assert grade(card, make_trajectory("")).value == 0.0


def test_rewardhub_readers_brings_a_format(tmp_path):
    card = card_of("rewardhub_readers", ReaderCard)
    path = tmp_path / "sums.arrows"
    path.write_text("2 + 2 => 4\nno arrow\n")
    assert card.recognises(path.read_bytes())
    good, bad = card.reader().read(path, ReadOptions(source=path.name))
    assert (good.id, good.task.prompt, good.final_text) == ("sums.arrows:1", "2 + 2", "4")
    assert isinstance(bad, RowError)


def test_rewardhub_writers_brings_a_format():
    card = card_of("rewardhub_writers", WriterCard)
    stream = io.BytesIO()
    rows = [{"id": "a", "reward": {"value": 0.5}}, {"id": "b", "reward": {"value": None}}]
    card.writer().write(rows, stream)
    assert stream.getvalue() == b"a\t0.5\nb\t\n"


def test_rewardhub_sandboxes_brings_a_resource():
    sandbox = card_of("rewardhub_sandboxes", SandboxCard).sandbox(address="far.example")
    assert sandbox.identity == {"sandbox": "remote", "address": "far.example"}
    with pytest.raises(InfrastructureError, match=r"far\.example does not answer"):
        asyncio.run(sandbox.arun(Job(source="pass")))


def test_rewardhub_judges_brings_a_resource():
    judge = card_of("rewardhub_judges", JudgeCard).judge(reply="no")
    assert asyncio.run(judge.ask([{"role": "user", "content": "Well?"}])).text == "no"


def test_rewardhub_models_brings_a_resource():
    model = card_of("rewardhub_models", ModelCard).model(scale=2.0)
    assert model.forward(["abc", ""]) == [6.0, 0.0]


def test_rewardhub_policies_brings_a_policy():
    policy = card_of("rewardhub_policies", PolicyCard).policy()
    attempts = asyncio.run(policy.sample(make_task("Who are you?"), 2, 0))
    assert [each.final_text for each in attempts] == ["Who are you?"] * 2


def test_rewardhub_environments_brings_an_environment():
    environment = card_of("rewardhub_environments", EnvironmentCard).environment()
    call = ToolCall(id="1", name="say", arguments="hello")
    turn = asyncio.run(environment.act(Step(tool_calls=(call,)), [call]))
    assert [each.content for each in turn.observations] == ["hello"]
    assert asyncio.run(environment.act(Step(), [])).done


def test_rewardhub_task_sources_brings_tasks():
    tasks = list(card_of("rewardhub_task_sources", TaskSourceCard).source(count=3))
    assert [task.reference for task in tasks] == ["0", "2", "4"]


def test_rewardhub_specs_brings_a_spec_by_name():
    assert card_of("rewardhub_specs", SpecCard).path == Path("specs/strict.yaml")


def test_rewardhub_attacks_brings_answers():
    (text,) = card_of("rewardhub_attacks", AttackCard).attack(make_task("2 + 2?"))
    assert {"0", "999"} <= set(text.split())


def test_rewardhub_commands_brings_a_command_without_importing_it():
    assert card_of("rewardhub_commands", CommandCard).target == "rewardhub_example.hello:app"


def test_rewardhub_scored_is_told_of_each_reward():
    registry = registry_with("rewardhub_scored")
    recorded = {"use": "recorded/value", "options": {"key": "good"}}
    stages = [{"name": "outcome", "graders": [recorded]}]
    spec = {"rewardhub": 1, "name": "test/observed", "stages": stages}
    attempts = [make_trajectory("x", domain="math", metadata=known) for known in ({"good": 1}, {})]
    with Engine(spec, registry=registry) as engine:
        rewards = list(engine.score_all(attempts))
    assert [reward.fault for reward in rewards] == [None, "task"]
    assert registry.observer_errors == {}
    (observer,) = registry._observers
    counts = observer.function.__globals__["FAULTS"]
    assert counts == {"math: scored": 1, "math: task": 1}
