"""The code of an answer. EXTRACTION.md has the rule in words; its sentences are tested."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewardhub_code import syntax
from rewardhub_code.completion import completed, preamble_of
from rewardhub_code.fences import INVISIBLE, Block, blocks_of, visible
from rewardhub_code.prose import bare_code, code_of_transcript, is_transcript, transcript_in

How = Literal["none", "fenced", "bare", "transcript", "completed"]

LONGEST_ANSWER = 1_000_000
"""Characters; a longer answer has no code."""

MOST_BLOCKS = 100
"""Of more blocks than that, the last count."""

_PYTHON = re.compile(r"(python|py)[\d.]*|ipython|sage", re.IGNORECASE)
_TRANSCRIPT = frozenset({"pycon", "doctest", "python-repl", "python-console"})
_RUNNER_FILE = re.compile(
    r"(?:^|[\s/:=\"'#])(conftest\.py|pytest\.ini|setup\.cfg|tox\.ini|pyproject\.toml"
    r"|sitecustomize\.py|usercustomize\.py|pytest\.py|[\w.-]+\.pth)\b"
)
_LEETCODE = {
    "typing": "Any Callable Deque DefaultDict Dict Generator Iterable Iterator List Optional "
    "Sequence Set Tuple Union",
    "collections": "Counter OrderedDict defaultdict deque",
    "functools": "cache cmp_to_key lru_cache reduce",
    "itertools": "accumulate chain combinations count cycle groupby pairwise permutations product "
    "zip_longest",
    "heapq": "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left",
    "math": "ceil comb factorial floor gcd inf isqrt lcm log log2 sqrt",
}
_MODULES = "bisect collections functools heapq itertools math operator random re string sys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The code of an answer, and how it was found.

    Attributes:
        code: the code; empty if the answer has none, which is a graded 0 with the ``reason``.
        how: ``fenced``, ``bare``, ``transcript``, ``completed`` (behind the prompt) or ``none``.
        complete: whether the block is closed and the code parses.
        reason: where the code came from, or why there is none, in one sentence.
        blocks: how many blocks were joined.
        tampered: signs of cheating in the answer's text.
    """

    code: str = ""
    how: How = "none"
    complete: bool = False
    reason: str = ""
    blocks: int = 0
    tampered: tuple[str, ...] = ()

    def evidence(self) -> dict[str, Any]:
        """Return what the evidence of a Score says of it."""
        said: dict[str, Any] = {"how": self.how, "reason": self.reason, "complete": self.complete}
        if self.blocks > 1:
            said["blocks"] = self.blocks
        return said


@dataclass(frozen=True, slots=True)
class _Candidate:
    code: str
    tree: ast.Module | None
    how: How
    labelled: bool = True
    closed: bool = True

    @property
    def whole(self) -> bool:
        return self.tree is not None and self.closed


def code_of(
    answer: str, *, entry_point: str | None = None, prompt: str = "", language: str = "python"
) -> Extraction:
    """Return the code of ``answer``. Never raises, and takes time in proportion to the text.

    Args:
        answer: the final text of an attempt, or a reference.
        entry_point: the name that the code must define; of a dotted one the first part.
        prompt: the code that the answer completes, or whose imports and helpers it leans on.
        language: of the code; other than Python it is found by its fence and never parsed.
    """
    if len(answer) > LONGEST_ANSWER:
        said = f"the answer has {len(answer)} characters, and {LONGEST_ANSWER} are read"
        return Extraction(reason=said)
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    if not _PYTHON.fullmatch(language):
        return _of_other_language(text, language.lower())
    found = _whole(text, entry_point) or _found(text, entry_point, prompt)
    return found if found.code.strip() else replace(found, code="", how="none", complete=False)


def _of_other_language(text: str, language: str) -> Extraction:
    blocks = blocks_of(text)
    if not blocks:
        code = text if text.strip() else ""
        return Extraction(code=code, how="bare" if code else "none", complete=True, blocks=1)
    named = [block for block in blocks if block.language == language]
    usable = named or [block for block in blocks if not block.language]
    if not usable:
        return Extraction(reason=f"no block of the answer is {language}")
    last = usable[-1]
    said = f"the last block of {language}" if named else "the last block without a language"
    return Extraction(code=last.text, how="fenced", complete=last.closed, reason=said, blocks=1)


def _whole(text: str, entry_point: str | None) -> Extraction | None:
    """Return the answer as it stands, if it is Python from its first to its last line."""
    readable = _candidate(text, "bare")
    tree = readable.tree
    if tree is None or not syntax.is_program(tree):
        return None
    if entry_point is not None and not _defines(readable, entry_point):
        return None
    made = Extraction(code=readable.code, how="bare", complete=True, blocks=1)
    return replace(made, reason="the whole answer is code")


def _found(text: str, entry_point: str | None, prompt: str) -> Extraction:
    blocks = blocks_of(text)
    tampered = _signs_in(blocks)
    usable = [block for block in blocks if _is_python(block) and not _runner_file_of(block)]
    candidates = [_of_block(block) for block in usable[-MOST_BLOCKS:]]
    if not blocks:
        candidates = _unfenced(visible(text), completes=bool(prompt))
    if not candidates:
        return Extraction(reason="the answer has no code", tampered=tampered)
    found = _chosen(candidates, entry_point, prompt)
    return replace(found, tampered=tampered)


def _is_python(block: Block) -> bool:
    return (
        not block.language
        or bool(_PYTHON.fullmatch(block.language))
        or block.language in _TRANSCRIPT
    )


def _runner_file_of(block: Block) -> str:
    """Return the name of the file that steers the runner which the block says to be."""
    first = block.text.lstrip().partition("\n")[0]
    named = _RUNNER_FILE.search(block.info[:200])
    if named is None and first.startswith("#"):
        named = _RUNNER_FILE.search(first[:200])
    return named[1] if named else ""


def _signs_in(blocks: Iterable[Block]) -> tuple[str, ...]:
    names = dict.fromkeys(name for name in map(_runner_file_of, blocks) if name)
    return tuple(f"the answer has a block for `{name}`, which is ignored" for name in names)


def _of_block(block: Block) -> _Candidate:
    transcript = block.language in _TRANSCRIPT or is_transcript(block.text)
    code = code_of_transcript(block.text) if transcript else block.text
    made = _candidate(code, "transcript" if transcript else "fenced")
    return replace(made, labelled=bool(block.language), closed=block.closed)


def _candidate(code: str, how: How) -> _Candidate:
    """Read the code; blanks and marks that nobody sees are mended if it is no Python with them."""
    tree = syntax.parse(code)
    if tree is None and not code.isascii():
        mended = INVISIBLE.sub("", code).replace("\u00a0", " ")
        mended_tree = syntax.parse(mended)
        if mended_tree is not None:
            return _Candidate(mended, mended_tree, how)
    return _Candidate(code, tree, how)


def _unfenced(text: str, *, completes: bool) -> list[_Candidate]:
    if typed := transcript_in(text):
        return [_candidate(typed, "transcript")]
    code = bare_code(text)
    made = [_candidate(code, "bare")] if code else []
    # A body alone begins with no word that tells code from prose.
    return [*made, _candidate(text, "bare")] if completes and text.strip() else made


def _chosen(candidates: Sequence[_Candidate], entry_point: str | None, prompt: str) -> Extraction:
    if entry_point is None:
        return _joined(candidates, _last_program(candidates), "")
    defining = [n for n, each in enumerate(candidates) if _defines(each, entry_point)]
    if defining:
        last = next((n for n in reversed(defining) if candidates[n].tree is not None), defining[-1])
        return _joined(candidates, last, entry_point, prompt)
    for candidate in reversed(candidates):
        if prompt and (code := completed(prompt, candidate.code, entry_point=entry_point)):
            said = "the answer, put behind the prompt"
            return Extraction(
                code=code, how="completed", complete=candidate.closed, reason=said, blocks=1
            )
    return _method(candidates, entry_point, prompt)


def _last_program(candidates: Sequence[_Candidate]) -> int:
    def rank(place: int) -> tuple[bool, bool, int]:
        tree = candidates[place].tree
        runs = tree is not None and syntax.is_program(tree)
        return (runs, candidates[place].labelled, place)

    return max(range(len(candidates)), key=rank)


def _defines(candidate: _Candidate, entry_point: str) -> bool:
    name = entry_point.partition(".")[0]
    if candidate.tree is not None:
        return name in syntax.defined_in(candidate.tree.body)
    escaped = re.escape(name)
    pattern = rf"^(?:(?:async )?def |class ){escaped}\b|^{escaped} *="
    return bool(re.search(pattern, candidate.code, re.MULTILINE))


def _method(candidates: Sequence[_Candidate], entry_point: str, prompt: str) -> Extraction:
    """Return the last class ``Solution`` that has the entry point, or the last block of all."""
    for place in reversed(range(len(candidates))):
        tree = candidates[place].tree
        if tree is not None and entry_point in syntax.methods_of(tree, "Solution"):
            found = _joined(candidates, place, f"Solution.{entry_point}", prompt)
            said = f"{found.reason}; `{entry_point}` is a method of its class Solution"
            code = f"{found.code.rstrip()}\n\n{entry_point} = Solution().{entry_point}\n"
            return replace(found, code=code, reason=said)
    found = _joined(candidates, _last_program(candidates), entry_point, prompt)
    return replace(found, reason=f"{found.reason}; nothing defines `{entry_point}`")


def _joined(
    candidates: Sequence[_Candidate], place: int, entry_point: str, prompt: str = ""
) -> Extraction:
    """Return the candidate with what it lacks in front of it."""
    chosen = candidates[place]
    used, missing = _helpers(candidates, place)
    codes = [*_leading(missing, entry_point, prompt), *(candidates[n].code for n in sorted(used))]
    # A `from __future__` must stay first, so what needs nothing gets nothing.
    code = "\n".join([*codes, chosen.code]) if codes else chosen.code
    where = "the text" if chosen.how == "bare" else f"block {place + 1} of {len(candidates)}"
    said = f"{where}, with {len(used)} before it" if used else where
    return Extraction(
        code=code, how=chosen.how, complete=chosen.whole, reason=said, blocks=len(used) + 1
    )


def _helpers(candidates: Sequence[_Candidate], place: int) -> tuple[set[int], set[str]]:
    """Return the blocks that define what is missing, and the names that no block defines."""
    home: dict[str, int] = {}
    for other in (*range(place - 1, -1, -1), *range(place + 1, len(candidates))):
        tree = candidates[other].tree
        for name in syntax.defined_in(tree.body) if tree is not None else ():
            home.setdefault(name, other)
    used: set[int] = set()
    nowhere: set[str] = set()
    waiting = [place]
    while waiting:
        tree = candidates[waiting.pop()].tree
        for name in syntax.missing_in(tree) if tree is not None else ():
            if name not in home:
                nowhere.add(name)
            elif home[name] not in used:
                used.add(home[name])
                waiting.append(home[name])
    return used, nowhere


def _leading(missing: set[str], entry_point: str, prompt: str) -> list[str]:
    """Return the statements of the prompt, or LeetCode's imports, that give the missing names."""
    lines: list[str] = []
    preamble = preamble_of(prompt, entry_point=entry_point) if prompt else None
    if preamble is not None and missing & syntax.defined_in(preamble.body):
        missing = missing - syntax.defined_in(preamble.body)
        lines.append(ast.unparse(preamble))
    if not entry_point.startswith("Solution."):
        return lines
    modules = sorted(missing.intersection(_MODULES.split()))
    lines.extend(f"import {module}" for module in modules)
    for module, names in _LEETCODE.items():
        lines.extend(f"from {module} import {name}" for name in sorted(missing & {*names.split()}))
    return lines
