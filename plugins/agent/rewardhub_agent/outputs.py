"""`agent/outputs`: what the attempt must tell the user."""

from __future__ import annotations

from rewardhub import Grader, Score, TaskError, Trajectory
from rewardhub_agent.checks import OutputsCheck, check_of
from rewardhub_agent.finding import plain_text, whole


class Outputs(Grader):
    """Full marks if the attempt tells the user every fact that it must, as tau-bench checks it.

    Each fact must occur in what the assistant says in one turn, without regard to case, spaces
    and commas (tau-bench, Yao et al. 2024, ``Env.calculate_reward``). Unlike there, a fact is not
    found inside of a longer word or number: 10 is not told by 100, 10.5 or -10, but by 10.00.
    What is said beside a tool call is not told to the user, unless ``beside_calls`` says so;
    reasoning never is.
    """

    partial: bool = False
    """Whether there is partial credit: the share of the facts that are told."""
    beside_calls: bool = False
    """Whether text in a turn with tool calls reaches the user."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Look for each fact in what the user was told."""
        check = check_of(trajectory, "outputs", OutputsCheck)
        if not check.told and not check.not_told:
            raise TaskError("`checks.outputs` lists nothing that must be told")
        said = [
            plain_text(step.text)
            for step in trajectory.steps
            if step.text and (self.beside_calls or not step.tool_calls)
        ]
        wrong = next((fact for fact in check.not_told if _told(fact, said)), None)
        told = [any(_told(each, said) for each in fact) for fact in check.told]
        missing = [fact[0] for fact, found in zip(check.told, told, strict=True) if not found]
        evidence = {"missing": missing, "told": sum(told)}
        if wrong is not None:
            return Score.of(0, f"it tells `{wrong}`, which must not be told", evidence=evidence)
        share = sum(told) / len(told) if told else 1.0
        reason = f"{sum(told)} of {len(told)} facts told"
        if missing:
            reason += f"; not told: {', '.join(missing[:5])}"
        return Score.of(share if self.partial else float(not missing), reason, evidence=evidence)


def _told(fact: str, said: list[str]) -> bool:
    pattern = whole(fact)
    return any(pattern.search(text) for text in said)
