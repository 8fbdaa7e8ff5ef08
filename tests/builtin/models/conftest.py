"""A tiny language model for the tests of this folder."""

import os

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    pytest.importorskip("torch", reason="local models need torch")
    pytest.importorskip("transformers", reason="local models need transformers")
    from rewardhub.testing import tiny_language_model

    return tiny_language_model(tmp_path_factory.mktemp("tiny"))
