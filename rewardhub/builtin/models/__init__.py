"""Local models: found, told apart, loaded once for all that use them.

Judges, policies and process reward models stand on these pieces. torch and transformers are
imported when one of them is first used.
"""

from rewardhub.builtin.models.devices import device_of, dtype_of
from rewardhub.builtin.models.files import ModelFiles
from rewardhub.builtin.models.generator import TextGenerator
from rewardhub.builtin.models.leases import Lease, lease_model
from rewardhub.builtin.models.loading import load_model, load_tokenizer
from rewardhub.builtin.models.requests import Generated

__all__ = [
    "Generated",
    "Lease",
    "ModelFiles",
    "TextGenerator",
    "device_of",
    "dtype_of",
    "lease_model",
    "load_model",
    "load_tokenizer",
]
