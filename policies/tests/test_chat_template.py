import importlib
import json
from datetime import date
from typing import Any

import pytest
from rewardhub_policies.chat_template import render

from rewardhub import UsageError

USER = {"role": "user", "content": "Grüße & <b>"}
TEMPLATES = {
    "filters": "{{ messages | tojson }}{{ messages | tojson(indent=2) }}"
    "{{ messages[0].content | e }}",
    "blocks": "  {% for m in messages %}\n  {{ m.content }}\n  {% endfor %}\nend\n",
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
    "{% endfor %}",
    "loops": "{% for m in messages %}{% if m.role == 'x' %}{% continue %}{% endif %}{{ m.content }}"
    "{% break %}{% endfor %}",
    "macros": "{% macro show(m) %}[{{ m.content | trim }}]{% endmacro %}{% for m in messages %}"
    "{{ show(m) }}{% endfor %}{% set ns = namespace(n=0) %}{% set ns.n = 3 %}{{ ns.n }}",
    "tools": "{% if tools is not none %}{{ tools | tojson }}{% endif %}{{ documents is none }}",
    "names": "{{ bos_token }}{{ add_generation_prompt }}{{ enable_thinking is defined }}",
    "tests": "{{ messages[0].content is string }}{{ messages is sequence }}{{ tools is mapping }}",
    "missing": "[{{ nothing }}]{{ messages[0].nothing is defined }}",
}


def rendered(template: str, **changes: Any) -> str:
    given = {
        "messages": [USER],
        "tools": [],
        "generation_prompt": True,
        "today": None,
        "variables": {"bos_token": "<s>", "enable_thinking": False},
    }
    return render(template, **{**given, **changes})


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("tools", [[], [{"type": "function", "function": {"name": "ä<f>"}}]])
def test_renders_as_transformers_does(name: str, tools: list[Any]) -> None:
    theirs = importlib.import_module("transformers.utils.chat_template_utils")
    expected, _ = theirs.render_jinja_template(
        [[USER]],
        tools=tools or None,
        chat_template=TEMPLATES[name],
        add_generation_prompt=True,
        bos_token="<s>",
        enable_thinking=False,
    )
    assert rendered(TEMPLATES[name], tools=tools) == expected[0]


def test_writes_json_without_escapes() -> None:
    assert json.loads(rendered("{{ messages | tojson }}")) == [USER]
    assert "ü" in rendered("{{ messages | tojson }}")


def test_tells_the_day_that_is_given() -> None:
    template = "{{ strftime_now('%d %b %Y') }}"
    assert rendered(template, today=date(2024, 7, 26)) == "26 Jul 2024"


def test_passes_on_why_a_template_refuses() -> None:
    with pytest.raises(UsageError, match="refuses these messages: roles must alternate"):
        rendered("{{ raise_exception('roles must alternate') }}")


def test_names_the_line_of_a_mistake() -> None:
    with pytest.raises(UsageError, match="mistake on line 2"):
        rendered("a\n{% for x %}")


@pytest.mark.parametrize(
    "template", ["{{ 'a' + 1 }}", "{{ nothing.more }}", "{{ 1 / 0 }}", "{{ x() }}"]
)
def test_names_what_cannot_be_rendered(template: str) -> None:
    with pytest.raises(UsageError, match="cannot render these messages"):
        rendered(template)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.append(1) }}",
        "{{ messages.__class__.__mro__ }}{{ messages.__class__.__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
    ],
)
def test_keeps_a_template_in_its_sandbox(template: str) -> None:
    with pytest.raises(UsageError, match="cannot render"):
        rendered(template)
