"""math/equivalent as the function that rewardlint audits.

``pip install rewardlint==0.1.0``, then from the repository root
``rewardlint audit plugins/math/benchmarks/adversarial.py:accept``.
"""

from rewardhub_math import Equivalent

from rewardhub.testing import CallingWorkers, make_trajectory


def accept(completion: str, reference: str) -> float:
    """The value that the grader gives a completion; 0 where it abstains."""
    attempt = make_trajectory(completion, reference=reference)
    return Equivalent().grade(attempt, CallingWorkers()).value or 0.0
