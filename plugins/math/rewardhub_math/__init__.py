"""rewardhub-math: equality of mathematical answers."""

from collections.abc import Iterator

from rewardhub import GraderCard, Limits, hookimpl
from rewardhub_math.graders import BoxedFormat, Choice, Equivalent, Numeric

__all__ = ["BoxedFormat", "Choice", "Equivalent", "Numeric"]


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    # The limits are those of one comparison by sympy in a worker, its import included.
    limits = Limits(cpu_seconds=5.0, wall_seconds=30.0, memory_mb=1024)
    yield GraderCard(
        name="math/equivalent",
        grader=Equivalent,
        reads=("final_text", "status", "task.reference"),
        limits=limits,
    )
    yield GraderCard(
        name="math/numeric", grader=Numeric, reads=("final_text", "status", "task.reference")
    )
    yield GraderCard(
        name="math/choice", grader=Choice, reads=("final_text", "status", "task.reference")
    )
    yield GraderCard(name="math/boxed-format", grader=BoxedFormat, reads=("final_text",))
