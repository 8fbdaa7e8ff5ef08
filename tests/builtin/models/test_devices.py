"""Where a model runs, and in which numbers."""

import importlib

import pytest

from rewardhub import UsageError, device_of, dtype_of
from rewardhub.builtin.models import devices

torch = pytest.importorskip("torch", reason="local models need torch")


@pytest.fixture
def gpus(monkeypatch):
    def pretend(count):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    return pretend


@pytest.mark.parametrize(
    ("option", "count", "device"),
    [("auto", 0, "cpu"), ("auto", 1, "cuda"), ("cpu", 1, "cpu"), ("cuda:1", 2, "cuda:1")],
)
def test_names_a_device(gpus, option, count, device):
    gpus(count)
    assert device_of(option) == device


@pytest.mark.parametrize(
    ("option", "count", "message"),
    [
        ("cuda", 0, "sees no GPU"),
        ("cuda:2", 2, "the last GPU here is `cuda:1`"),
        ("gpu", 2, "is no device"),
        ("cuda:", 2, "is no device"),
        ("cuda:x", 2, "is no device"),
        ("cdua", 2, "Did you mean `cuda`"),
    ],
)
def test_refuses_a_device_that_is_not_there(gpus, option, count, message):
    gpus(count)
    with pytest.raises(UsageError, match=message):
        device_of(option)


@pytest.mark.parametrize(
    ("option", "device", "dtype"),
    [
        ("auto", "cpu", torch.float32),
        ("auto", "cuda:1", torch.bfloat16),
        ("float16", "cpu", torch.float16),
    ],
)
def test_names_a_dtype(option, device, dtype):
    assert dtype_of(option, device) is dtype


def test_refuses_an_unknown_dtype():
    with pytest.raises(UsageError, match="Did you mean `bfloat16`"):
        dtype_of("bfloat", "cpu")


def test_says_how_to_install_what_is_missing(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UsageError, match=r"pip install 'rewardhub-core\[transformers\]'"):
        devices.library("torch")


def test_a_library_that_breaks_inside_is_not_called_missing(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError(name="numpy")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError):
        devices.library("torch")
