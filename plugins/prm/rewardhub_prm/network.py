"""Reward models on this machine: loaded, batched by tokens, read at positions only."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardhub import InfrastructureError, ModelFiles, UsageError, load_model
from rewardhub_prm.encoding import Encoded

Logits = list[list[float]]
"""One row's read-out: for each position, one number for each column of the head."""

BATCH_TOKENS = {"cpu": 512, "cuda": 65536}
"""Tokens that a batch holds, padding included: a CPU is quickest while they stay in its caches."""

_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")


@dataclass(frozen=True)
class Network:
    """The two halves of a reward model.

    Attributes:
        body: the module that reads token ids.
        state: output of the body -> (rows, tokens, width).
        head: (positions, width) in float32 -> (positions, columns).
        columns: how many numbers the head gives.
    """

    body: Any
    state: Callable[[Any], Any]
    head: Callable[[Any], Any]
    columns: int


def with_head(files: ModelFiles, head: Any, device: str, dtype: Any) -> Network:
    """Return the body of a model whose head transformers does not know, with that head on it."""
    kinds = tuple(files.config.get("architectures") or ())
    body = load_model(
        "AutoModel", files, device=device, dtype=dtype, kinds=kinds, trust_remote_code=False
    )
    width = int(body.config.get_text_config().hidden_size)
    if head[0].in_features != width:
        raise UsageError(
            f"The head of `{files.name}` reads {head[0].in_features} numbers, and its body gives "
            f"{width}. Copy the model anew."
        )
    return Network(body, _last_hidden, head, int(head[-1].out_features))


def class_head(files: ModelFiles, prefix: str, device: str) -> Any:
    """Return the layers that a checkpoint keeps under ``prefix``, with a ReLU between two of them.

    They are kept in float32, whatever the body is: they are small, and their output is the value.

    Raises:
        UsageError: if there are none.
    """
    import torch

    tensors = _tensors(files, f"{prefix}.")
    weights = sorted(name for name in tensors if name.endswith("weight"))
    if not weights:
        raise UsageError(
            f"The model `{files.name}` holds no weights `{prefix}.*`, so it is no reward model of "
            "this preset. Name the preset that it is for."
        )
    layers: list[Any] = []
    for name in weights:
        weight = tensors[name].float()
        bias = tensors.get(f"{name.removesuffix('weight')}bias")
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
        if bias is not None:
            layer.bias = torch.nn.Parameter(bias.float(), requires_grad=False)
        layers += [*([torch.nn.ReLU()] if layers else []), layer]
    return torch.nn.Sequential(*layers).to(device).eval()


def token_choice(files: ModelFiles, choices: Sequence[int], device: str, dtype: Any) -> Network:
    """Return a language model that is read as a choice between a few tokens.

    Only their rows of the output layer are used: its whole width, for every token of a solution,
    would take more memory than the model.
    """
    model = load_model("AutoModelForCausalLM", files, device=device, dtype=dtype)
    head = linear_in_float32(model.get_output_embeddings(), list(choices))
    return Network(model.base_model, _last_hidden, head, len(choices))


def token_classes(files: ModelFiles, device: str, dtype: Any) -> Network:
    """Return a token classifier."""
    model = load_model("AutoModelForTokenClassification", files, device=device, dtype=dtype)
    return Network(model, _logits, _same, int(model.config.num_labels))


def linear_in_float32(layer: Any, rows: Sequence[int] | None = None) -> Callable[[Any], Any]:
    """Return a linear layer, or some rows of it, as a function that computes in float32."""
    import torch

    kept = slice(None) if rows is None else torch.tensor(rows, device=layer.weight.device)
    weight = layer.weight.detach()[kept].float()
    bias = None if layer.bias is None else layer.bias.detach()[kept].float()

    def head(state: Any) -> Any:
        return torch.nn.functional.linear(state, weight, bias)

    return head


class TokenModel:
    """A network that many may ask at once; it works on one batch after the other."""

    def __init__(self, network: Network, device: str) -> None:
        self.network = network
        self.device = device
        self._takes = frozenset(inspect.signature(network.body.forward).parameters)
        self._one_at_a_time = threading.Lock()
        self._looks_back_only = self._is_causal()

    def read(
        self, rows: Sequence[Encoded], *, batch_tokens: int | None = None, pad_left: bool = False
    ) -> list[Logits]:
        """Return what the head says at each row's positions, in the order of ``rows``.

        Args:
            rows: token ids and positions.
            batch_tokens: how many tokens a batch may hold, padding included; None: `BATCH_TOKENS`.
                A row that is longer is a batch of its own. A batch that is too large for the
                memory is halved.
            pad_left: where padding goes; values do not hang on it.

        Raises:
            InfrastructureError: if the device broke, or a row alone is too large for its memory.
        """
        found: list[Logits] = [[] for _ in rows]
        most = batch_tokens or BATCH_TOKENS[self.device.partition(":")[0]]
        for batch in batches([len(row) for row in rows], most):
            read = self._read_or_halve([rows[index] for index in batch], pad_left=pad_left)
            for index, logits in zip(batch, read, strict=True):
                found[index] = logits
        return found

    def _read_or_halve(self, rows: Sequence[Encoded], *, pad_left: bool) -> list[Logits]:
        try:
            with self._one_at_a_time:
                return self._forward(rows, pad_left=pad_left)
        except RuntimeError as error:
            if not is_memory(error):
                raise
        # Outside of the handler, whose traceback would keep the tensors alive.
        if self.device != "cpu":
            import torch

            torch.cuda.empty_cache()
        if len(rows) == 1:
            raise InfrastructureError(
                f"The device has too little memory for the reward model and one row of "
                f"{len(rows[0])} tokens. Say a smaller `max_tokens`, or another `device`.",
                passing=False,
            )
        half = len(rows) // 2
        first = self._read_or_halve(rows[:half], pad_left=pad_left)
        return first + self._read_or_halve(rows[half:], pad_left=pad_left)

    def _forward(self, rows: Sequence[Encoded], *, pad_left: bool) -> list[Logits]:
        import torch

        with torch.inference_mode():
            inputs, gaps = self._padded(rows, pad_left=pad_left)
            state = self.network.state(self.network.body(**inputs))
            counts = [len(row.positions) for row in rows]
            pairs = [
                (index, gaps[index] + position)
                for index, row in enumerate(rows)
                for position in row.positions
            ]
            at = torch.tensor(pairs, dtype=torch.long, device=self.device).reshape(-1, 2)
            logits = self.network.head(state[at[:, 0], at[:, 1]].float()).double().tolist()
        read = iter(logits)
        return [[next(read) for _ in range(count)] for count in counts]

    def _padded(
        self, rows: Sequence[Encoded], *, pad_left: bool
    ) -> tuple[Mapping[str, Any], list[int]]:
        """Return the inputs of the body, and how many pads stand before each row."""
        import torch

        width = max(len(row) for row in rows)
        gaps = [width - len(row) if pad_left else 0 for row in rows]
        # What stands in the gaps is masked; token 0 is in every vocabulary.
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for index, (row, gap) in enumerate(zip(rows, gaps, strict=True)):
            ids[index, gap : gap + len(row)] = torch.tensor(row.ids)
            mask[index, gap : gap + len(row)] = 1
        inputs = {"input_ids": ids}
        # A causal model never looks at padding that stands behind a row, and without a mask torch
        # takes its quickest kernels.
        if pad_left or not self._looks_back_only:
            inputs["attention_mask"] = mask
        # Padding at the right moves no token, and encoders number theirs in ways of their own.
        if pad_left and "position_ids" in self._takes:
            inputs["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        inputs = {name: tensor.to(self.device) for name, tensor in inputs.items()}
        if "use_cache" in self._takes:
            return {**inputs, "use_cache": False}, gaps
        return inputs, gaps

    def _is_causal(self) -> bool:
        """Whether what stands behind a token changes nothing at it: tried on two short rows."""
        import torch

        ids = torch.tensor([[1, 2, 3, 4], [1, 2, 4, 3]], device=self.device)
        with torch.inference_mode():
            state = self.network.state(self.network.body(input_ids=ids))
        return bool(state.shape[1] == ids.shape[1] and torch.equal(state[0, :2], state[1, :2]))


def batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield indices in batches of like length that hold at most ``most`` tokens with padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[index] * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def is_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that memory is used up, on a GPU or on the CPU."""
    return type(error).__name__ == "OutOfMemoryError" or any(sign in str(error) for sign in _MEMORY)


def _last_hidden(output: Any) -> Any:
    return output.last_hidden_state


def _logits(output: Any) -> Any:
    return output.logits


def _same(state: Any) -> Any:
    return state


def _tensors(files: ModelFiles, prefix: str) -> dict[str, Any]:
    """Return the tensors of a checkpoint whose names begin with ``prefix``."""
    found: dict[str, Any] = {}
    for path in files.weights:
        if path.suffix == ".safetensors":
            import safetensors

            with safetensors.safe_open(path, framework="pt") as file:
                names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
                found |= {name: file.get_tensor(name) for name in names}
        else:
            import torch

            kept = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            found |= {name: kept[name] for name in kept if name.startswith(prefix)}
    return found
