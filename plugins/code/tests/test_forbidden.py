import pytest
from rewardhub_code.forbidden import ATTRIBUTES, IMPORTS, USES, forbidden_in


def words(source: str, *uses: str) -> list[str]:
    found = forbidden_in(source, IMPORTS, (*USES, *uses), ATTRIBUTES)
    assert found is not None
    return [what for _, what in found]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os", "imports os"),
        ("import os.path as p", "imports os.path"),
        ("from os import system as s", "imports os.system"),
        ("from os.path import join", "imports os.path.join"),
        ("from builtins import eval as e\ne('1')", "uses builtins.eval"),
        ("__import__('os')", "imports os"),
        ("import importlib as i\ni.import_module('o' + 's')", "imports os"),
        ("eval('1')", "uses eval"),
        ("e = eval", "uses eval"),
        ("list(map(eval, xs))", "uses eval"),
        ("globals()['eval']('1')", "uses eval"),
        ("__builtins__['exec']('1')", "uses builtins.exec"),
        ("__builtins__.exec('1')", "uses builtins.exec"),
        ("getattr(__builtins__, 'ev' + 'al')('1')", "uses builtins.eval"),
        ("import sys\nsys._getframe(1)", "uses sys._getframe"),
        ("from sys import modules as m\nm['x']", "uses sys.modules"),
        ("f.__globals__", "uses the attribute __globals__"),
        ("getattr(f, '__globals__')", "uses the attribute __globals__"),
        ("().__class__.__base__.__subclasses__()", "uses the attribute __subclasses__"),
        (
            "def f():\n    try:\n        import gc\n    except ImportError:\n        pass",
            "imports gc",
        ),
    ],
)
def test_finds(source: str, found: str) -> None:
    assert found in words(source)


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.system('x')",
        "import os as o\no.system('x')",
        "from os import system as s\ns('x')",
        "import os\nrun = os.system",
        "import os\ngetattr(os, 'sys' + 'tem')('x')",
        "import os\nvars(os)['system']('x')",
        "import os\nos.__dict__['system']('x')",
    ],
)
def test_follows_aliases_to_a_dotted_name(source: str) -> None:
    assert "uses os.system" in words(source, "os.system")


@pytest.mark.parametrize(
    "source",
    [
        "import osmosis",
        "from . import os",
        "text = 'import os'",
        "model.eval()",
        "d['eval']",
        "def compile_all(): ...",
        "x.system",
        "reopen(x)",
    ],
)
def test_lets_look_alikes_be(source: str) -> None:
    assert words(source, "os.system") == []


def test_names_lines_in_order() -> None:
    found = forbidden_in("x = 1\nimport os\nimport gc", IMPORTS, USES, ATTRIBUTES)
    assert found == [(2, "imports os"), (3, "imports gc")]


def test_has_nothing_to_say_of_what_does_not_parse() -> None:
    assert forbidden_in("def f(:", IMPORTS, USES, ATTRIBUTES) is None


@pytest.mark.parametrize(
    "source", ["eval_ = vars\neval_(o)[name]", "exec_ = getattr(o, name)", "eval(text)"]
)
def test_does_not_claim_to_read_what_is_put_together_later(source: str) -> None:
    assert not any("system" in what for what in words(source, "os.system"))
