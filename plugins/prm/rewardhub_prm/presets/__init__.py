"""Presets: one module for each family of process reward models."""

from __future__ import annotations

import re
from typing import Literal

from rewardhub import ModelFiles, UsageError
from rewardhub_prm.presets.base import Aggregation, Preset, Split, probability
from rewardhub_prm.presets.generic import FILE, Generic, GenericForm
from rewardhub_prm.presets.math_shepherd import MathShepherd
from rewardhub_prm.presets.qwen import Qwen
from rewardhub_prm.presets.rlhflow import RlhFlow
from rewardhub_prm.presets.skywork import Skywork

__all__ = [
    "Aggregation",
    "Generic",
    "GenericForm",
    "Preset",
    "PresetName",
    "Split",
    "name_of",
    "preset_of",
    "probability",
]

PresetName = Literal["qwen", "skywork", "rlhflow", "math-shepherd", "thinkprm", "generic"]

_PLAIN: dict[str, type[Preset]] = {
    kind.name: kind for kind in (Qwen, Skywork, RlhFlow, MathShepherd)
}
_ARCHITECTURES: dict[str, PresetName] = {
    "Qwen2ForProcessRewardModel": "qwen",
    "Qwen2ForPrmModel": "skywork",
}
_NAMES: dict[str, PresetName] = {
    r"skywork-o1-open-prm": "skywork",
    r"llama3\.1-8b-prm-(mistral|deepseek)-data": "rlhflow",
    r"math-shepherd.*prm": "math-shepherd",
    r"thinkprm": "thinkprm",
}


def preset_of(name: PresetName, files: ModelFiles) -> Preset:
    """Return a preset whose values stand at tokens.

    Raises:
        UsageError: if it is `generic`, and the model's folder does not describe it.
    """
    return Generic.of(files) if name == "generic" else _PLAIN[name]()


def name_of(files: ModelFiles) -> PresetName:
    """Return the preset that a model is for: by its ``rewardhub_prm.json``, architecture or name.

    Raises:
        UsageError: if nothing tells.
    """
    if (files.path / FILE).is_file():
        return "generic"
    for architecture in files.config.get("architectures") or ():
        if architecture in _ARCHITECTURES:
            return _ARCHITECTURES[architecture]
    called = f"{files.name} {files.config.get('_name_or_path', '')}".lower()
    for pattern, name in _NAMES.items():
        if re.search(pattern, called):
            return name
    known = ", ".join((*_PLAIN, "thinkprm", "generic"))
    raise UsageError(
        f"Nothing in `{files.name}` says which preset it is for. Say `preset:` with one of "
        f"{known}; `generic` needs a {FILE} in the model's folder."
    )
