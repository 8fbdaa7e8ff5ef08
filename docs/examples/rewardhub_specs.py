from collections.abc import Iterator
from pathlib import Path

from rewardhub import SpecCard, hookimpl

SPECS = Path("specs")  # in a pack: Path(__file__).parent / "specs"


@hookimpl
def rewardhub_specs() -> Iterator[SpecCard]:
    yield SpecCard(name="example/strict", path=SPECS / "strict.yaml", description="No mercy")
