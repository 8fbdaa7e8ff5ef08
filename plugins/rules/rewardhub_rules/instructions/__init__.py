"""The instructions of IFEval and IFBench: checked, graded, and read from the public files."""

from rewardhub_rules.instructions.catalogue import catalogue, instruction_of
from rewardhub_rules.instructions.grader import Instructions, loosened
from rewardhub_rules.instructions.kinds import Finding, Instruction
from rewardhub_rules.instructions.reader import InstructionReader, has_instructions
from rewardhub_rules.instructions.required import InstructionList

__all__ = [
    "Finding",
    "Instruction",
    "InstructionList",
    "InstructionReader",
    "Instructions",
    "catalogue",
    "has_instructions",
    "instruction_of",
    "loosened",
]
