"""A reward spec as a YAML file again: parents merged in, every default written out."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from rewardhub.spec.model import Entry, ResourceEntry, RewardSpec, Route, Spec, Stage

_PLAIN = re.compile(r"[A-Za-z0-9_.$/-]([A-Za-z0-9_.$/<>=*+() -]*[A-Za-z0-9_)])?|")


def show(spec: RewardSpec) -> str:
    """Return ``spec`` as YAML without `extends` and with every default.

    Loading it gives a spec with the same digest. Secrets are shown as ``{env: NAME}``. A route
    shows its specs in place of their names.
    """
    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="rt", pure=True)
    yaml.default_flow_style = None
    yaml.width = 1_000_000  # folded text would not be what was written
    content = _route(spec) if isinstance(spec, Route) else _spec(spec)
    stream = io.StringIO()
    yaml.dump(_quoted(content), stream)
    return stream.getvalue()


def _quoted(value: Any) -> Any:
    """Return ``value`` with all but the plainest text in double quotes.

    Not all that ruamel.yaml writes without quotes does it read back as the same text (``?0``).
    """
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {_quoted(name): _quoted(item) for name, item in fields.items()}
    if isinstance(value, list):
        return [_quoted(item) for item in cast("list[object]", value)]
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return DoubleQuotedScalarString(value)
    return value


def _route(route: Route) -> dict[str, Any]:
    shown = {id(spec): _spec(spec) for spec in route.all_specs}
    targets = {value: shown[id(spec)] for value, spec in route.specs.items()}
    if route.default is not None:
        targets["default"] = shown[id(route.default)]
    return {"rewardhub": 1, "route": {"by": route.by, **targets}}


def _spec(spec: Spec) -> dict[str, Any]:
    return _without_none(
        {
            "rewardhub": 1,
            "name": spec.name,
            "version": spec.version,
            "range": list(spec.range),
            "success": spec.success.text if spec.success else None,
            "resources": {name: _resource(entry) for name, entry in spec.resources.items()},
            "stages": [_stage(stage) for stage in spec.stages],
            "credit": spec.credit,
            "training": asdict(spec.training),
        }
    )


def _resource(entry: ResourceEntry) -> dict[str, Any]:
    return {"use": entry.use, **entry.limits, **entry.options}


def _stage(stage: Stage) -> dict[str, Any]:
    return _without_none(
        {
            "name": stage.name,
            "weight": stage.weight,
            "gate": asdict(stage.gate) if stage.gate else None,
            "combine": stage.combine,
            "formula": stage.formula.text if stage.formula else None,
            "steps": stage.steps,
            "optional": stage.optional,
            "monotone": stage.monotone,
            "graders": [_entry(entry) for entry in stage.entries],
        }
    )


def _entry(entry: Entry) -> dict[str, Any]:
    return _without_none(
        {
            "use": entry.use,
            "as": entry.id,
            "weight": entry.weight,
            "when": entry.when.text if entry.when else None,
            "optional": entry.optional,
            "options": entry.grader.model_dump(mode="json", by_alias=True),
            "bind": dict(entry.bind),
            "limits": asdict(entry.limits),
        }
    )


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``fields`` without what is not said; null would be a value."""
    return {name: value for name, value in fields.items() if value is not None}
