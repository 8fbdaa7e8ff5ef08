"""A reward file to a Spec: every name bound, every option checked, every default filled in."""

from __future__ import annotations

from pathlib import Path

from rewardhub.contracts import AnyGrader
from rewardhub.errors import UnknownNameError
from rewardhub.expression import is_name
from rewardhub.host import GraderCard, Registered, Registry
from rewardhub.spec.conditions import Expressions
from rewardhub.spec.drafts import PartDraft, SpecDraft, StageDraft, inline
from rewardhub.spec.explain import Subject, validated
from rewardhub.spec.extends import entry_id
from rewardhub.spec.marks import Mistakes, Node
from rewardhub.spec.model import Gate, Spec, Stage, Training
from rewardhub.spec.resources import Resources
from rewardhub.spec.rules import check_names, check_rules
from rewardhub.spec.secrets import refuse_plain_secrets
from rewardhub.spec.shape import EntryShape, SpecShape, StageShape


def resolve(node: Node, registry: Registry, mistakes: Mistakes) -> SpecDraft:
    """Return the spec that ``node`` says; its ``spec`` is None where that has mistakes.

    Args:
        node: a reward file, with all that it extends merged in.
        registry: knows the graders and the resources.
        mistakes: takes everything that is wrong.
    """
    own = Mistakes()
    draft = SpecDraft(node.mark.file, node)
    draft.shape = validated(SpecShape, node.without("rewardhub"), Subject("", "A spec"), own)
    stages = node.fields.get("stages")
    draft.stages = [
        _stage(stage, number, registry, own)
        for number, stage in enumerate(stages.items if stages else (), start=1)
    ]
    check_names(draft, own)
    parts = list(draft.parts)
    resources = Resources(node.below("resources"), parts, registry, own)
    for part in parts:
        part.bind = resources.bind(part)
    resources.warn_of_unused(parts)
    draft.resources = resources.entries
    expressions = Expressions(draft.stages, own)
    expressions.read_all()
    draft.success = expressions.success(node.fields.get("success"), node)
    check_rules(draft, own)
    if not own.errors:
        draft.spec = _spec(draft)
    mistakes.found += [mistake for mistake in own.found if mistake not in mistakes.found]
    return draft


def _stage(node: Node, number: int, registry: Registry, mistakes: Mistakes) -> StageDraft:
    name = node.text("name")
    where = f"Stage `{name}`" if name else f"Stage {number}"
    shape = validated(StageShape, node, Subject(where, "A stage"), mistakes)
    stage = StageDraft(node, where, name, shape)
    graders = node.fields.get("graders")
    stage.parts = [
        _part(entry, index, stage, registry, mistakes)
        for index, entry in enumerate(graders.items if graders else (), start=1)
    ]
    return stage


def _part(
    node: Node, number: int, stage: StageDraft, registry: Registry, mistakes: Mistakes
) -> PartDraft:
    name = entry_id(node)
    where = f"{stage.where}, grader {f'`{name}`' if name else number}"
    shape = validated(EntryShape, node, Subject(where, "A grader entry"), mistakes)
    part = PartDraft(node, where, stage, name, shape)
    _check_id(part, mistakes)
    part.registered = _card(part, registry, mistakes)
    if part.registered is not None:
        part.grader = _grader(part, part.registered, mistakes)
    return part


def _check_id(part: PartDraft, mistakes: Mistakes) -> None:
    if not part.id or is_name(part.id):
        return
    key = "as" if part.node.text("as") else "use"
    mistakes.add(
        part.node.fields[key].mark,
        f"{part.where}: `{part.id}` cannot be an id: an id is letters, digits and `_`, begins with "
        "no digit, and is no word of the language (and, or, not, true, false, min, max, abs). "
        f"Say `as: {_suggested_id(part.id)}`.",
    )
    part.id = ""


def _suggested_id(name: str) -> str:
    letters = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
    return letters if is_name(letters) else f"part_{letters}"


def _card(part: PartDraft, registry: Registry, mistakes: Mistakes) -> Registered[GraderCard] | None:
    use = part.node.fields.get("use")
    if use is None or not isinstance(use.value, str):
        return None  # said already, by the shape of the entry
    file = Path(part.node.mark.file).name
    place = f"{file}, {inline(part.stage.where)}" if file else inline(part.stage.where)
    try:
        return registry.grader(use.value, where=place)
    except UnknownNameError as error:
        mistakes.add(use.mark, str(error))
        return None


def _grader(
    part: PartDraft, registered: Registered[GraderCard], mistakes: Mistakes
) -> AnyGrader | None:
    node = part.node.fields.get("options")
    if node is None:
        node = Node({}, part.node.mark, part.node.key)
    if not isinstance(node.value, dict):
        return None  # said already, by the shape of the entry

    def fix(key: str) -> str:
        return f"Graders reach secrets through a resource: name it there, `{key}: {{env: NAME}}`."

    refuse_plain_secrets(node, part.where, fix, mistakes)
    use = registered.card.name
    return validated(
        registered.card.grader, node, Subject(part.where, f"`{use}`", "option "), mistakes
    )


def _spec(draft: SpecDraft) -> Spec:
    shape = draft.shape
    assert shape is not None
    return Spec(
        name=shape.name,
        version=str(shape.version),
        range=shape.range,
        success=draft.success,
        resources=draft.resources,
        stages=tuple(_resolved(stage) for stage in draft.stages),
        credit=shape.credit,
        training=Training(
            unscored_reward=shape.training.unscored_reward, stop_above=shape.training.stop_above
        ),
        file=draft.file,
        raw=draft.node.plain,
    )


def _resolved(stage: StageDraft) -> Stage:
    shape = stage.shape
    assert shape is not None
    gate = shape.gate
    return Stage(
        name=shape.name,
        entries=tuple(part.entry() for part in stage.parts),
        weight=stage.weight,
        gate=None if gate is None else Gate(below=gate.below, reward=gate.reward),
        combine=shape.combine or ("formula" if stage.formula else "mean"),
        formula=stage.formula,
        steps=shape.steps,
        optional=shape.optional,
        monotone=shape.monotone,
        line=stage.node.mark.line,
    )
