"""Texts that are nearly the same: small edits, other names of variables, another order.

A text is the set of its pairs of neighbouring words, and two texts are as alike as these sets:
the size of what they share over the size of both together (Jaccard). Candidates come from MinHash
signatures that agree in a band (Broder 1997; Leskovec, Rajaraman and Ullman, "Mining of Massive
Datasets", chapter 3); the sets themselves decide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rewardhub.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
    Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.intp]]"

NumberRule = Literal["keep", "mask"]

LANES = 256
"""How many hashes a signature has."""

MISSED = 1e-6
"""The chance at most that a pair just as alike as the threshold shares no band."""

CROWD = 200
"""How many unlike texts a bucket may hold until it is split by the next band, too."""

_MARGIN = 0.12
"""Four standard deviations of the likeness that a signature estimates."""

_NARROWEST = 0.5
_WIDEST_BAND = 16
_WORD = re.compile(
    r"\d+(?:[.,]\d+)*"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # scripts that set no space between words
    r"|[^\W\d]\w*"
    r"|[^\w\s.,;:!?'\"`*#]"
)
_VARIABLE = re.compile(r"[b-zB-HJ-Z]|\w*_\w*|[^\W\d]+\d\w*|[a-z]+[A-Z]\w*", re.ASCII)


def words_of(text: str, *, numbers: NumberRule = "keep") -> list[str]:
    """Return the words and symbols of a text, without what differs in a copy of it.

    Case, white space, forms of one character (NFKC) and punctuation are gone. Names of variables
    (one letter, or with a digit, an underscore or a capital inside) are all one word. Numbers are
    kept, or ``mask`` makes them one word, too.
    """
    found = _WORD.findall(unicodedata.normalize("NFKC", text))
    return [_plain(word, numbers == "mask") for word in found]


@lru_cache(maxsize=1 << 16)
def _plain(word: str, mask: bool) -> str:
    if word[0].isdecimal():
        return "0" if mask else word
    return "_" if _VARIABLE.fullmatch(word) else word.casefold()


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which texts belong together.

    Attributes:
        of: for each text, the number of the first text that it is connected with.
        crowded: how many texts have so many half-alike ones around them (a template's) that those
            which agree in two bands and more were compared: for a pair just as alike as the
            threshold the chance to be missed is then higher than `MISSED`.
    """

    of: Sequence[int]
    crowded: int = 0


def cluster(texts: Iterable[str], *, threshold: float, numbers: NumberRule = "keep") -> Clusters:
    """Return the connected components of texts that are alike.

    Two texts that are alike to ``threshold`` are in one component but for a chance of `MISSED`;
    so are, through others between them, texts that are less alike. Texts without any word are
    alike where they are equal.

    Args:
        texts: are read once; a kilobyte and what their words take is kept of each.
        threshold: how alike they are at least, in [0.5, 1].
        numbers: ``keep`` or ``mask``.

    Raises:
        UsageError: if the threshold is out of range, or numpy is not installed.
    """
    if not _NARROWEST <= threshold <= 1:
        raise UsageError(
            f"`--threshold {threshold:g}`: how alike near-duplicates are is in [{_NARROWEST}, 1]."
        )
    _need_numpy()
    forest = _Forest()
    sets: list[Words] = []
    known: dict[bytes, int] = {}
    places: list[int] = []  # equal sets are looked at once
    for text in texts:
        pairs = _pairs(text, numbers)
        place = known.setdefault(pairs.tobytes(), len(sets))
        if place == len(sets):
            sets.append(pairs)
            forest.grow()
        places.append(place)
    crowded = _Search(sets, threshold, forest).run() if len(sets) > 1 else 0
    first: dict[int, int] = {}
    roots = [forest.root(place) for place in places]
    for number, root in enumerate(roots):
        first.setdefault(root, number)
    return Clusters([first[root] for root in roots], crowded)


def likeness(one: str, other: str, *, numbers: NumberRule = "keep") -> float:
    """Return how alike two texts are, in [0, 1]: what decides in `cluster`."""
    _need_numpy()
    return _jaccard(_pairs(one, numbers), _pairs(other, numbers))


def _need_numpy() -> None:
    if find_spec("numpy") is None:
        raise UsageError(
            'Finding near-duplicates needs numpy: `pip install "rewardhub-core[split]"`.'
        )


@lru_cache(maxsize=1 << 18)
def _number(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest())


def _pairs(text: str, numbers: NumberRule) -> Words:
    """Return the pairs of neighbouring words as sorted numbers, each once."""
    import numpy as np

    words = words_of(text, numbers=numbers)
    if not words:
        words = [" ".join(text.split())]
    hashed = np.fromiter((_number(word) for word in words), np.uint64, len(words))
    if len(words) > 1:
        hashed = hashed[:-1] * np.uint64(0x9E3779B97F4A7C15) + hashed[1:]
    return np.unique(hashed)


def _jaccard(one: Words, other: Words) -> float:
    import numpy as np

    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def rows_of_a_band(threshold: float) -> int:
    """Return how many hashes make a band: as many as leave at most `MISSED` of the pairs out."""
    fitting = (
        rows
        for rows in range(_WIDEST_BAND, 1, -1)
        if (1 - threshold**rows) ** (LANES // rows) <= MISSED
    )
    return next(fitting, 1)


@dataclass(slots=True)
class _Forest:
    """Which numbers are connected: a union-find."""

    above: list[int] = field(default_factory=list[int])

    def grow(self) -> None:
        self.above.append(len(self.above))

    def root(self, number: int) -> int:
        above = self.above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self.above[high] = low


class _Search:
    """Joins the sets that are alike, band by band."""

    def __init__(self, sets: list[Words], threshold: float, forest: _Forest) -> None:
        self.sets = sets
        self.threshold = threshold
        self.forest = forest
        self.signatures = _signatures(sets)
        self.crowded: set[int] = set()

    def run(self) -> int:
        """Join all; return how many sets were in a crowd that is not one component."""
        import numpy as np

        rows = rows_of_a_band(self.threshold)
        everybody = np.arange(len(self.sets))
        for begin in range(0, LANES - rows + 1, rows):
            self._band(everybody, begin, rows)
        parted = len({self.forest.root(number) for number in self.crowded}) > 1
        return len(self.crowded) if parted else 0

    def _band(self, members: Numbers, begin: int, rows: int) -> None:
        import numpy as np

        columns = np.arange(begin, begin + rows) % LANES
        for bucket in _buckets(members, self.signatures[members][:, columns]):
            unlike = self._one_of_each(bucket)
            if len(unlike) < 2:
                continue
            if len(unlike) > CROWD and begin + rows < 2 * LANES:
                self.crowded.update(bucket.tolist())
                self._band(bucket, begin + rows, rows)
            else:
                self._join(bucket)

    def _one_of_each(self, bucket: Numbers) -> set[int]:
        return {self.forest.root(number) for number in bucket.tolist()}

    def _join(self, bucket: Numbers) -> None:
        """Compare everybody in a bucket with everybody of another component."""
        import numpy as np

        rest: list[int] = bucket.tolist()
        while len(rest) > 1:
            pivot = rest.pop()
            root = self.forest.root(pivot)
            others = [number for number in rest if self.forest.root(number) != root]
            if others:
                self._compare(pivot, np.array(others))
            elif len(self._one_of_each(np.array(rest))) == 1:
                return

    def _compare(self, pivot: int, others: Numbers) -> None:
        same = self.signatures[others] == self.signatures[pivot]
        near = others[same.mean(axis=1) >= self.threshold - _MARGIN]
        for other in near.tolist():
            if self.forest.root(other) == self.forest.root(pivot):
                continue
            if _jaccard(self.sets[pivot], self.sets[other]) >= self.threshold:
                self.forest.join(pivot, other)


def _signatures(sets: list[Words]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the MinHash signature of each set, a row each, by multiply-add-shift hashing."""
    import numpy as np

    drawn = np.random.default_rng(20_011)  # any constant: the same texts, the same clusters
    factors = drawn.integers(0, 1 << 63, LANES, np.uint64) * np.uint64(2) + np.uint64(1)
    offsets = drawn.integers(0, 1 << 63, LANES, np.uint64)
    made = np.empty((len(sets), LANES), np.uint32)
    for number, each in enumerate(sets):
        lowest = np.full(LANES, np.iinfo(np.uint64).max, np.uint64)
        for begin in range(0, len(each), 4096):  # a text may be long
            part = each[begin : begin + 4096, None]
            np.minimum(lowest, (part * factors + offsets).min(axis=0), out=lowest)
        made[number] = lowest >> np.uint64(32)
    return made


def _buckets(members: Numbers, band: np.ndarray[Any, np.dtype[np.uint32]]) -> Iterator[Numbers]:
    """Yield the members whose rows in the band are equal, where there are several."""
    import numpy as np

    key = np.zeros(len(band), np.uint64)
    for column in band.T:
        key = key * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    order = np.argsort(key, kind="stable")
    ends = np.flatnonzero(np.diff(key[order])) + 1
    for bucket in np.split(members[order], ends):
        if len(bucket) > 1:
            yield bucket
