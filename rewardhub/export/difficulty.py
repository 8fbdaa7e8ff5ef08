"""How hard a task is for a policy, and how sure that is: a Beta distribution of its pass rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewardhub.errors import UsageError
from rewardhub.report.statistics import LEVEL, Interval, beta_cdf, beta_quantile


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of a pass rate before any attempt: Beta(a, b).

    The default is Jeffreys' prior, Beta(1/2, 1/2): it holds rates near 0 and 1 for likely, as
    they are in practice, and one attempt outweighs it.
    """

    a: float = 0.5
    b: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.a < float("inf") and 0 < self.b < float("inf")):
            raise UsageError(f"The prior Beta({self.a:g}, {self.b:g}) needs two positive numbers.")


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What is believed of a task's pass rate after its attempts.

    Attributes:
        prior: what was believed before.
        passed: how many attempts succeeded; ``missed``: how many did not. What is older counts
            for less, so these are no whole numbers.
    """

    prior: Prior
    passed: float = 0.0
    missed: float = 0.0

    def after(self, success: bool) -> Difficulty:
        """Return what is believed after one more attempt."""
        return Difficulty(self.prior, self.passed + success, self.missed + (not success))

    def faded(self, keep: float) -> Difficulty:
        """Return what is believed once the policy has been trained on: the evidence is older.

        Args:
            keep: the share of an old attempt that still counts, in [0, 1].
        """
        return Difficulty(self.prior, self.passed * keep, self.missed * keep)

    @property
    def a(self) -> float:
        """The first parameter of the distribution."""
        return self.prior.a + self.passed

    @property
    def b(self) -> float:
        """The second parameter of the distribution."""
        return self.prior.b + self.missed

    @property
    def pass_rate(self) -> float:
        """The expected pass rate."""
        return self.a / (self.a + self.b)

    @property
    def interval(self) -> Interval:
        """Where the pass rate lies: the middle `LEVEL` of the distribution."""
        outside = (1 - LEVEL) / 2
        return Interval(
            beta_quantile(outside, self.a, self.b), beta_quantile(1 - outside, self.a, self.b)
        )

    @property
    def weight(self) -> float:
        """How much there is to learn: the expected p (1 - p), between 0 and 1/4.

        For a reward of 0 or 1, p (1 - p) is its variance within a group of attempts, which is
        what advantages are made of: a task that always or never passes has none. Its expectation
        over what is believed of p keeps tasks in that hardly anything is known of.
        """
        total = self.a + self.b
        return self.a * self.b / (total * (total + 1))

    def below(self, rate: float) -> float:
        """Return the probability that the pass rate is at most ``rate``."""
        return beta_cdf(rate, self.a, self.b)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "pass_rate": self.pass_rate,
            "interval": list(self.interval),
            "weight": self.weight,
            "beta": [self.a, self.b],
        }
