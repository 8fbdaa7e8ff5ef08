"""The cards of the readers of other projects' formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rewardhub.builtin.formats.foreign.agent_process_bench import (
    AgentProcessBenchReader,
    is_agent_process_bench,
)
from rewardhub.builtin.formats.foreign.atif import AtifReader, is_atif
from rewardhub.builtin.formats.foreign.inspect_log import (
    InspectReader,
    is_inspect_archive,
    is_inspect_log,
)
from rewardhub.builtin.formats.foreign.items import (
    NemoGymReader,
    ResponsesReader,
    is_nemo_gym,
    is_responses,
)
from rewardhub.builtin.formats.foreign.node import Fields
from rewardhub.builtin.formats.foreign.openhands import OpenHandsReader, is_openhands
from rewardhub.builtin.formats.foreign.opening import first_object
from rewardhub.builtin.formats.foreign.reader import ForeignReader
from rewardhub.builtin.formats.foreign.swe_agent import SweAgentReader, is_swe_agent
from rewardhub.builtin.formats.foreign.tau_bench import TauBenchReader, is_tau_bench
from rewardhub.builtin.formats.foreign.trainers import (
    OpenRlhfReader,
    TrlReader,
    VerlReader,
    is_openrlhf,
    is_trl,
    is_verl,
)
from rewardhub.builtin.formats.foreign.verifiers import VerifiersReader, is_verifiers
from rewardhub.host.cards import ReaderCard

_RANK = 1
"""Above the readers of columns: a row with messages and step labels is not just a chat."""

_FORMATS: tuple[tuple[str, type[ForeignReader], Callable[[Fields], bool], str], ...] = (
    ("agent-process-bench", AgentProcessBenchReader, is_agent_process_bench, "AgentProcessBench"),
    ("atif", AtifReader, is_atif, "ATIF, Harbor's agent trajectories"),
    ("nemo-gym", NemoGymReader, is_nemo_gym, "NeMo Gym rollouts"),
    ("openhands", OpenHandsReader, is_openhands, "OpenHands evaluation rows and events"),
    ("openrlhf", OpenRlhfReader, is_openrlhf, "OpenRLHF rows: `input`, `label`, `output`"),
    ("responses", ResponsesReader, is_responses, "OpenAI Responses API objects"),
    ("swe-agent", SweAgentReader, is_swe_agent, "SWE-agent `.traj` files"),
    ("tau-bench", TauBenchReader, is_tau_bench, "tau-bench results"),
    ("trl", TrlReader, is_trl, "TRL preference and stepwise rows"),
    ("verifiers", VerifiersReader, is_verifiers, "verifiers results"),
    ("verl", VerlReader, is_verl, "verl rows with responses, and dumped rollouts"),
)


def foreign_cards() -> Iterator[ReaderCard]:
    """Yield the cards of the readers, in the order of their names."""
    for name, reader, recognises, description in _FORMATS:
        yield ReaderCard(
            name=name,
            reader=reader,
            recognises=_of_first_object(recognises),
            rank=_RANK,
            description=description,
        )
    yield ReaderCard(
        name="inspect",
        reader=InspectReader,
        recognises=_is_inspect,
        rank=_RANK,
        description="Inspect logs, `.json` and `.eval`",
    )


def _of_first_object(recognises: Callable[[Fields], bool]) -> Callable[[bytes], bool]:
    return lambda head: recognises(first_object(head))


def _is_inspect(head: bytes) -> bool:
    return is_inspect_archive(head) or is_inspect_log(first_object(head))
