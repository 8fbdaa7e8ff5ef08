"""The training loop: batches by tokens, a schedule, an early stop, the best state kept."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from rewardhub import UsageError
from rewardhub_prm.network import batches

__all__ = ["Epoch", "Example", "HeadAlone", "Learner", "Schedule", "WholeModel", "fit", "seeded"]


@dataclass(frozen=True, slots=True)
class Example:
    """A row of tokens with labels at some of its positions.

    Attributes:
        ids: token ids.
        positions: indices of tokens, where there is a label.
        labels: of each position: how right the step is, in [0, 1].
    """

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    labels: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long and how fast is trained.

    Attributes:
        epochs: at most so many passes over the training part.
        rate: the highest learning rate; it climbs over the first tenth of the steps, and falls
            to 0 over the rest.
        decay: weight decay of AdamW (arXiv 1711.05101).
        patience: stop after so many epochs without a lower validation loss.
        batch_tokens: how many tokens a batch may hold, padding included.
        seed: of the order of batches and of dropout.
    """

    epochs: int
    rate: float
    decay: float
    patience: int
    batch_tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one pass came to: mean losses for each labelled step, and wall time in seconds."""

    number: int
    training_loss: float
    validation_loss: float | None
    seconds: float


class Learner(Protocol):
    """What is trained: the whole model, or its head on features that are kept."""

    def module(self) -> Any:
        """Return the module whose parameters are trained."""
        ...

    def logits(self, examples: Sequence[Example]) -> Any:
        """Return (positions, 2): what the head says at each labelled position, in order."""
        ...


class WholeModel:
    """Every weight learns."""

    def __init__(self, model: Any, device: str) -> None:
        self._model = model
        self._device = device

    def module(self) -> Any:
        """Return the model."""
        return self._model

    def logits(self, examples: Sequence[Example]) -> Any:
        """Run the model on one padded batch."""
        return at_positions(self._model(**padded(examples, self._device)).logits, examples)


class HeadAlone:
    """Only the head learns, on features that the model gave once.

    The features are brought to mean 0 and deviation 1 while it learns; `finish` puts that into
    the head's weights.
    """

    def __init__(self, model: Any, head: Any, device: str) -> None:
        import torch

        self._model, self._head, self._device = model, head, device
        self._features: dict[Example, Any] = {}
        self._mean: Any = None
        self._deviation: Any = None
        self._scaled = torch.nn.Linear(head.in_features, head.out_features).to(device)
        torch.nn.init.zeros_(self._scaled.weight)
        torch.nn.init.zeros_(self._scaled.bias)

    def read(
        self,
        training: Sequence[Example],
        validation: Sequence[Example],
        *,
        batch_tokens: int,
        tell: Callable[[str], None],
    ) -> None:
        """Run the model once over all examples and keep what reaches its head."""
        import torch

        seen: list[Any] = []
        hook = self._head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        examples = list(dict.fromkeys((*training, *validation)))
        done, said = 0, time.monotonic()
        self._model.eval()
        try:
            with torch.no_grad():
                for batch in batches([len(each.ids) for each in examples], batch_tokens):
                    chosen = [examples[index] for index in batch]
                    self._model(**padded(chosen, self._device))
                    kept = at_positions(seen.pop(), chosen).split(
                        [len(each.positions) for each in chosen]
                    )
                    self._features.update(zip(chosen, kept, strict=True))
                    done += len(batch)
                    if time.monotonic() - said > 10:
                        tell(f"features of {done} of {len(examples)} rows")
                        said = time.monotonic()
        finally:
            hook.remove()
        features = torch.cat([self._features[example] for example in training])
        self._mean = features.mean(0)
        self._deviation = features.std(0, correction=0).clamp(min=1e-6)

    def module(self) -> Any:
        """Return the head on scaled features."""
        return self._scaled

    def logits(self, examples: Sequence[Example]) -> Any:
        """Run the head on the features that were kept."""
        import torch

        features = torch.cat([self._features[example] for example in examples])
        return self._scaled((features - self._mean) / self._deviation)

    def finish(self) -> None:
        """Give the model's head the weights that do to its input what was learnt."""
        import torch

        with torch.no_grad():
            weight = self._scaled.weight / self._deviation
            bias = self._scaled.bias - weight @ self._mean
            self._head.weight.copy_(weight)
            self._head.bias.copy_(bias)


def fit(
    learner: Learner,
    training: Sequence[Example],
    validation: Sequence[Example],
    schedule: Schedule,
    *,
    class_weights: tuple[float, float] = (1.0, 1.0),
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[list[Epoch], int]:
    """Train, and leave the learner in the state of its best epoch.

    The loss is the cross-entropy of the two classes at each labelled position, a soft label
    counting for both classes by its share. Without validation examples every epoch is run, and the
    last state stays. Equal arguments and an equal number of threads give equal weights on a CPU.

    Args:
        learner: what is trained.
        training: examples to learn from.
        validation: examples to stop by.
        schedule: how long and how fast.
        class_weights: what a wrong and a right step count.
        tell: is told of each epoch.

    Returns:
        The epochs, and the number of the one whose state was kept.

    Raises:
        UsageError: if the loss is no longer a number.
    """
    import torch

    module = learner.module()
    optimiser = torch.optim.AdamW(
        module.parameters(), lr=schedule.rate, weight_decay=schedule.decay
    )
    runs = list(batches([len(each.ids) for each in training], schedule.batch_tokens))
    climb = _climb(len(runs) * schedule.epochs)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, climb)
    found: list[Epoch] = []
    best, kept, state = float("inf"), 0, copy.deepcopy(module.state_dict())
    dice = random.Random(schedule.seed)  # noqa: S311  # an order, no secret
    for number in range(1, schedule.epochs + 1):
        begun = time.monotonic()
        dice.shuffle(runs)
        chosen = ([training[index] for index in batch] for batch in runs)
        loss = _pass(learner, chosen, class_weights, optimiser, scheduler)
        checked = _validate(learner, validation, class_weights, schedule.batch_tokens)
        epoch = Epoch(number, loss, checked, time.monotonic() - begun)
        found.append(epoch)
        _check(epoch)
        tell(_line(epoch, schedule.epochs))
        if checked is None or checked < best:
            best, kept = checked or best, number
            state = copy.deepcopy(module.state_dict())
        elif number - kept >= schedule.patience:
            break
    module.load_state_dict(state)
    module.eval()
    return found, kept


def padded(examples: Sequence[Example], device: str) -> dict[str, Any]:
    """Return one batch, padded on the right; what stands in the gaps is masked."""
    import torch

    width = max(len(each.ids) for each in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    for index, each in enumerate(examples):
        ids[index, : len(each.ids)] = torch.tensor(each.ids)
        mask[index, : len(each.ids)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}


def at_positions(state: Any, examples: Sequence[Example]) -> Any:
    """Return (positions, width) of ``state``, (rows, tokens, width), row after row."""
    import torch

    pairs = [(row, at) for row, each in enumerate(examples) for at in each.positions]
    index = torch.tensor(pairs, dtype=torch.long, device=state.device).reshape(-1, 2)
    return state[index[:, 0], index[:, 1]]


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Seed torch's random numbers, and put them back as they were at the end."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _pass(
    learner: Learner,
    chosen: Iterable[Sequence[Example]],
    class_weights: tuple[float, float],
    optimiser: Any,
    scheduler: Any,
) -> float:
    import torch

    module = learner.module()
    module.train()
    total = count = 0.0
    for examples in chosen:
        losses, weights = _losses(learner, examples, class_weights)
        loss = losses.sum() / weights.sum()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        scheduler.step()
        total, count = total + float(losses.detach().sum()), count + float(weights.sum())
    return total / count


def _validate(
    learner: Learner,
    examples: Sequence[Example],
    class_weights: tuple[float, float],
    batch_tokens: int,
) -> float | None:
    import torch

    learner.module().eval()
    total = count = 0.0
    with torch.no_grad():
        for batch in batches([len(each.ids) for each in examples], batch_tokens):
            losses, weights = _losses(learner, [examples[index] for index in batch], class_weights)
            total, count = total + float(losses.sum()), count + float(weights.sum())
    return total / count if count else None


def _losses(
    learner: Learner, examples: Sequence[Example], class_weights: tuple[float, float]
) -> tuple[Any, Any]:
    """Return the weighted loss of each labelled position, and its weight."""
    import torch

    shares = learner.logits(examples).float().log_softmax(-1)
    right = torch.tensor([label for each in examples for label in each.labels])
    right = right.to(shares.device)
    if_wrong, if_right = class_weights
    losses = -(if_right * right * shares[:, 1] + if_wrong * (1 - right) * shares[:, 0])
    return losses, if_right * right + if_wrong * (1 - right)


def _climb(steps: int) -> Callable[[int], float]:
    """Return the share of the highest rate at each step: up over a tenth, then down to 0."""
    warm = max(1, steps // 10)

    def share(step: int) -> float:
        return (step + 1) / warm if step < warm else (steps - step) / max(1, steps - warm)

    return share


def _check(epoch: Epoch) -> None:
    for loss in (epoch.training_loss, epoch.validation_loss):
        if loss is not None and not loss < float("inf"):
            raise UsageError(
                f"The loss of epoch {epoch.number} is {loss}: the training has come apart. Try a "
                "lower `--rate`."
            )


def _line(epoch: Epoch, epochs: int) -> str:
    checked = "" if epoch.validation_loss is None else f", validation {epoch.validation_loss:.4f}"
    return (
        f"epoch {epoch.number} of {epochs}: loss {epoch.training_loss:.4f}{checked} "
        f"({epoch.seconds:.1f} s)"
    )
