"""Readers of the formats in which other projects write their attempts.

Each takes out of a row what our records hold; what is left of the row, in the shape that it had
there, goes into ``Trajectory.metadata``. So nothing that a file says is lost.
"""

from rewardhub.builtin.formats.foreign.cards import foreign_cards
from rewardhub.builtin.formats.foreign.documents import cut_documents

__all__ = ["cut_documents", "foreign_cards"]
