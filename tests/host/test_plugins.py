"""Finding plugins: installed packs, loose files, modules."""

import json
import sys
import textwrap
import uuid

import pytest

from rewardhub.errors import NameClashError, UnknownNameError, UsageError
from rewardhub.host import GraderCard, Manifest, discover, from_manifest
from rewardhub.host.plugins import PluginSource

PACK = """
    from rewardhub import Grader, GraderCard, hookimpl


    class Sample(Grader):
        def grade(self, trajectory):
            return 1.0


    @hookimpl
    def rewardhub_graders():
        yield GraderCard(name="{domain}/sample", grader=Sample)
    """


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a pack: a package beside its metadata, on the path for this test only."""
    monkeypatch.syspath_prepend(tmp_path)

    def installed(domain, source=PACK, *, editable=False, distribution=None):
        package = f"pack_{domain}_{uuid.uuid4().hex}"
        distribution = distribution or f"rewardhub-{domain}"
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").write_text(textwrap.dedent(source).replace("{domain}", domain))
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        )
        (info / "entry_points.txt").write_text(f"[rewardhub]\n{domain} = {package}\n")
        if editable:
            url = {"url": folder.as_uri(), "dir_info": {"editable": True}}
            (info / "direct_url.json").write_text(json.dumps(url))
        return folder

    return installed


def source_of(registry, name):
    return next(source for source in registry.plugins if source.name == name)


def test_finds_an_installed_pack_and_its_owner(install):
    install("fake")
    registered = discover().grader("fake/sample")
    assert registered.owner == PluginSource("fake", "rewardhub-fake", "1.2")
    assert registered.owner.label == "rewardhub-fake 1.2 (fake)"


def test_loads_the_built_ins_first(install):
    install("aaa")
    names = [source.name for source in discover().plugins]
    assert names.index("builtin") < names.index("aaa")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("1 / 0", "division by zero"),
        ("def x(:", "invalid syntax"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        (
            "from rewardhub import hookimpl\n@hookimpl\ndef rewardhub_grader():\n    return []",
            "There is no hook `rewardhub_grader`. Did you mean `rewardhub_graders`",
        ),
        ("def rewardhub_graders():\n    return []", "write `@hookimpl` above it"),
        (
            "from rewardhub import hookimpl\n@hookimpl\ndef rewardhub_graders():\n    return [1]",
            "yields GraderCard values, and this one is int",
        ),
        (
            "from rewardhub import hookimpl\n@hookimpl\ndef rewardhub_graders():\n    return 1 / 0",
            "division by zero",
        ),
        (
            "from rewardhub import hookimpl\n@hookimpl\ndef rewardhub_graders(x):\n    return []",
            "rewardhub_graders",
        ),
        (
            "from rewardhub import *\n@hookimpl\ndef rewardhub_graders():\n    yield GraderCard",
            "this one is <class",
        ),
    ],
)
def test_remembers_a_broken_pack_and_loads_the_others(install, source, reason):
    install("broken", source)
    install("sound")
    registry = discover()
    assert reason in source_of(registry, "broken").error
    assert registry.grader("sound/sample").card.name == "sound/sample"


def test_says_again_that_a_pack_is_broken_when_its_grader_is_named(install):
    install("broken", "import nothing_of_this_name")
    with pytest.raises(UnknownNameError) as excinfo:
        discover().grader("broken/sample", where="reward.yaml:3")
    said = str(excinfo.value)
    assert said.startswith("No grader is called `broken/sample` (reward.yaml:3; the plugin")
    assert "rewardhub-broken 1.2 (broken) is broken: ModuleNotFoundError: No module" in said


@pytest.mark.parametrize("blocked", ["fake", "rewardhub-fake"])
def test_leaves_out_what_is_blocked_by_name(install, blocked):
    install("fake", "raise RuntimeError('imported')")
    registry = discover(block=[blocked])
    assert source_of(registry, "fake").blocked
    assert source_of(registry, "fake").error is None
    with pytest.raises(UnknownNameError, match=r"rewardhub-fake 1.2 \(fake\) is blocked"):
        registry.grader("fake/sample")


def test_names_both_owners_of_a_name(install):
    same = PACK.replace("{domain}", "same")
    install("first", same)
    install("second", same)
    with pytest.raises(NameClashError) as excinfo:
        discover()
    assert "`same/sample` is claimed by `first` and by `second`" in str(excinfo.value)
    assert discover(block=["second"]).grader("same/sample").owner.name == "first"


def test_remembers_a_second_plugin_of_the_same_name(install):
    install("twin")
    install("twin", distribution="someone-twin")
    first, second = (source for source in discover().plugins if source.name == "twin")
    assert first.error is None
    assert "Another plugin is called `twin`" in second.error


def test_an_edit_of_an_editable_pack_changes_its_digest(install):
    folder = install("fake", editable=True)
    (folder / "deep").mkdir()
    (folder / "deep" / "more.py").write_text("LIMIT = 1\n")
    before = source_of(discover(), "fake").source
    assert len(before) == 32
    assert source_of(discover(), "fake").source == before
    (folder / "deep" / "more.py").write_text("LIMIT = 2\n")
    edited = source_of(discover(), "fake").source
    (folder / "deep" / "more.py").rename(folder / "more.py")
    moved = source_of(discover(), "fake").source
    assert len({before, edited, moved}) == 3


def test_an_installed_pack_needs_no_digest(install):
    install("fake")
    assert source_of(discover(), "fake").source == ""


def test_remembers_broken_metadata(install, tmp_path):
    install("fake", editable=True)
    (tmp_path / "rewardhub_fake-1.2.dist-info" / "direct_url.json").write_text("{")
    assert "direct_url.json of rewardhub-fake is broken" in source_of(discover(), "fake").error


def loose(tmp_path, source=PACK, name="my_graders.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(source).replace("{domain}", "loose"))
    return path


def test_loads_a_loose_file(tmp_path):
    path = loose(tmp_path)
    registered = discover(loose=[path]).grader("loose/sample")
    assert registered.owner.name == str(path)
    assert len(registered.owner.source) == 32
    assert registered.owner.label == str(path)


def test_an_edit_of_a_loose_file_changes_its_digest(tmp_path):
    before = discover(loose=[loose(tmp_path)]).grader("loose/sample").owner.source
    after = discover(loose=[loose(tmp_path, PACK + "\n")]).grader("loose/sample").owner.source
    assert before != after


def test_remembers_a_broken_loose_file(tmp_path):
    path = loose(tmp_path, "1 / 0")
    assert "division by zero" in source_of(discover(loose=[path]), str(path)).error


def test_says_that_a_loose_file_is_missing(tmp_path):
    with pytest.raises(UsageError, match="There is no plugin file"):
        discover(loose=[tmp_path / "nothing.py"])


def test_says_that_a_loose_file_is_no_python(tmp_path):
    with pytest.raises(UsageError, match=r"ends in `.py`"):
        discover(loose=[loose(tmp_path, name="graders.txt")])


def test_classes_of_a_loose_file_find_their_module(tmp_path):
    grader = discover(loose=[loose(tmp_path)]).grader("loose/sample").card.grader
    assert sys.modules[grader.__module__].Sample is grader


def test_loads_a_module_by_name(install):
    package = install("fake", distribution="fake").name
    registry = discover(block=["fake"], modules=[package])
    assert registry.grader("fake/sample").owner.name == package


def test_remembers_a_module_that_does_not_import():
    registry = discover(modules=["nothing_of_this_name"])
    assert "No module named" in source_of(registry, "nothing_of_this_name").error


def test_another_process_can_build_the_same_registry(install, tmp_path):
    install("fake")
    install("other")
    registry = discover(block=["other"], loose=[loose(tmp_path)])
    again = from_manifest(registry.manifest)
    assert list(again.all(GraderCard)) == list(registry.all(GraderCard))
    assert again.plugins == registry.plugins


def test_a_manifest_without_discovery_has_the_built_ins_alone(install):
    install("fake")
    registry = from_manifest(Manifest(discover=False))
    assert [source.name for source in registry.plugins] == ["builtin"]
