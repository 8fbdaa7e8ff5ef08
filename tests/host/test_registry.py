"""The registry: every card by name, observers, what tests build."""

import json
import logging
import sys
import types

import pytest

from rewardhub import Grader, GraderCard, Reward, SpecCard, hookimpl
from rewardhub.errors import NameClashError, PluginError, UnknownNameError
from rewardhub.host import CARD_KINDS, from_manifest, registry_of
from rewardhub.host.hookspecs import CARDS
from rewardhub.testing import make_trajectory

REWARD = Reward(1.0, step_rewards=(1.0,))


class Sample(Grader):
    def grade(self, trajectory):
        return 1.0


def card(name="test/sample"):
    return GraderCard(name=name, grader=Sample)


def test_finds_a_card_by_its_kind_and_name():
    assert registry_of(card()).grader("test/sample").card == card()


def test_lists_cards_by_name():
    registry = registry_of(card("test/b"), card("test/a"))
    mine = [name for name in registry.all(GraderCard) if name.startswith("test/")]
    assert mine == ["test/a", "test/b"]


def test_keeps_kinds_apart(tmp_path):
    spec = SpecCard(name="test/sample", path=tmp_path / "x.yaml")
    registry = registry_of(card(), spec)
    assert registry.get(SpecCard, "test/sample").card is spec


def test_names_the_close_card():
    with pytest.raises(UnknownNameError) as excinfo:
        registry_of(card()).grader("test/sampel", where="reward.yaml, stage `a`")
    assert str(excinfo.value) == (
        "No grader is called `test/sampel` (reward.yaml, stage `a`). Did you mean `test/sample`?"
    )


def test_names_the_same_thing_of_another_domain():
    with pytest.raises(UnknownNameError, match="Did you mean `test/sample`"):
        registry_of(card()).grader("elsewhere-entirely/sample")


def test_refuses_two_cards_of_one_name():
    with pytest.raises(NameClashError, match="offers two graders called `test/sample`"):
        registry_of(card(), card())


def test_names_both_plugins_of_one_name():
    class First:
        @hookimpl
        def rewardhub_graders(self):
            yield card()

    class Second(First):
        @hookimpl
        def rewardhub_graders(self):
            yield card()

    with pytest.raises(NameClashError, match="claimed by `First` and by `Second`"):
        registry_of(First(), Second())


def test_raises_at_once_for_a_broken_plugin_in_tests():
    class Broken:
        @hookimpl
        def rewardhub_graders(self):
            yield Sample

    with pytest.raises(PluginError, match="Broken: `rewardhub_graders` yields GraderCard values"):
        registry_of(Broken())


def test_asks_for_a_card_instead_of_a_class():
    with pytest.raises(PluginError, match="Give a card: `GraderCard"):
        registry_of(Sample)


def test_never_discovers():
    assert [source.name for source in registry_of().plugins] == ["builtin"]


def test_another_process_can_build_a_registry_of_modules(monkeypatch):
    module = types.ModuleType("sample_pack_of_this_test")
    module.rewardhub_graders = hookimpl(lambda: [card()])
    module.rewardhub_graders.__name__ = "rewardhub_graders"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    again = from_manifest(registry_of(module).manifest)
    assert again.grader("test/sample").owner.name == "sample_pack_of_this_test"


def test_every_kind_of_card_has_its_hook():
    assert set(CARDS.values()) == set(CARD_KINDS)
    assert all(kind.__doc__ and kind.kind != "card" for kind in CARD_KINDS)


def observer_of(function):
    return types.SimpleNamespace(rewardhub_scored=hookimpl(function), __name__="observer")


def test_tells_observers_of_each_reward():
    seen = []

    def rewardhub_scored(trajectory, reward):
        seen.append((trajectory.id, reward.value))

    registry = registry_of(observer_of(rewardhub_scored))
    assert registry.has_observers
    registry.observe(make_trajectory("a", id="one"), REWARD)
    assert seen == [("one", 1.0)]


def test_an_observer_may_take_less():
    seen = []

    def rewardhub_scored(reward):
        seen.append(reward)

    registry_of(observer_of(rewardhub_scored)).observe(make_trajectory("a"), REWARD)
    assert seen == [REWARD]


def test_counts_what_an_observer_raises(caplog):
    def rewardhub_scored(reward):
        raise ValueError("full disk")

    registry = registry_of(observer_of(rewardhub_scored))
    with caplog.at_level(logging.ERROR, logger="rewardhub"):
        for _ in range(3):
            registry.observe(make_trajectory("a"), REWARD)
    assert registry.observer_errors == {"observer": 3}
    assert "full disk" in caplog.text


def test_has_no_observers_by_default():
    assert not registry_of(card()).has_observers


def test_a_manifest_is_plain_data():
    manifest = registry_of(json).manifest
    assert (manifest.discover, manifest.modules) == (False, ("json",))
