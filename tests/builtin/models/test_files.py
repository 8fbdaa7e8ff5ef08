"""ModelFiles: where a model's files lie, and what tells two of them apart."""

import json
import logging
import shutil

import pytest

from rewardhub import ModelFiles, UsageError


def a_folder(path, *, config='{"architectures": ["LlamaForCausalLM"]}', weights=b"weights"):
    path.mkdir(parents=True)
    (path / "config.json").write_text(config)
    (path / "tokenizer.json").write_text("{}")
    (path / "model.safetensors").write_bytes(weights)
    return path


def test_finds_a_folder(tmp_path):
    folder = a_folder(tmp_path / "m")
    files = ModelFiles.find(folder)
    assert (files.path, files.name) == (folder, str(folder))
    assert files.config["architectures"] == ["LlamaForCausalLM"]


def test_equal_files_have_one_digest_wherever_they_lie(tmp_path):
    one = a_folder(tmp_path / "one")
    shutil.copytree(one, tmp_path / "two")
    assert ModelFiles.find(one).digest == ModelFiles.find(tmp_path / "two").digest


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_changed_file_changes_the_digest(tmp_path, file):
    folder = a_folder(tmp_path / "m")
    before = ModelFiles.find(folder).digest
    (folder / file).write_text('{"a": 1}')
    assert ModelFiles.find(folder).digest != before


def test_notes_beside_the_model_do_not_change_the_digest(tmp_path):
    folder = a_folder(tmp_path / "m")
    before = ModelFiles.find(folder).digest
    (folder / "README.md").write_text("read me")
    (folder / "training_args.bin").write_bytes(b"x")
    assert ModelFiles.find(folder).digest == before


def test_weights_count_by_size_and_by_both_ends(tmp_path):
    mebibyte = 1 << 20
    same = [b"a" * mebibyte, b"b" * mebibyte, b"c" * mebibyte]
    digests = [
        ModelFiles.find(a_folder(tmp_path / str(i), weights=b"".join(parts))).digest
        for i, parts in enumerate((same, [b"x" * mebibyte, *same[1:]], [*same[:2], b"x" * mebibyte],
                                   [*same, b"c"]))
    ]  # fmt: skip
    assert len(set(digests)) == 4


def test_safetensors_are_taken_where_there_are_both(tmp_path):
    folder = a_folder(tmp_path / "m")
    (folder / "pytorch_model.bin").write_bytes(b"x")
    assert [path.name for path in ModelFiles.find(folder).weights] == ["model.safetensors"]


def test_a_missing_folder_names_the_one_beside_it(tmp_path):
    a_folder(tmp_path / "judge-small")
    with pytest.raises(UsageError, match="Did you mean `judge-small`"):
        ModelFiles.find(tmp_path / "judge-smal")


def test_a_folder_without_a_configuration_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"holds no config\.json"):
        ModelFiles.find(tmp_path)


def test_a_configuration_that_is_no_json_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"config\.json cannot be read"):
        ModelFiles.find(a_folder(tmp_path / "m", config="{"))


def test_a_configuration_that_is_a_list_is_named(tmp_path):
    with pytest.raises(UsageError, match="holds no JSON object"):
        ModelFiles.find(a_folder(tmp_path / "m", config="[]"))


def test_a_folder_without_weights_is_named(tmp_path):
    folder = a_folder(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="holds no weights"):
        ModelFiles.find(folder)


def test_a_gguf_file_is_found_beside_no_configuration(tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    files = ModelFiles.find(tmp_path, gguf_file="small.gguf")
    assert [path.name for path in files.weights] == ["small.gguf"]
    assert dict(files.config) == {}


def test_a_folder_of_gguf_files_asks_which(tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"gguf_file: small\.gguf"):
        ModelFiles.find(tmp_path)


def test_a_gguf_file_that_is_not_there_names_the_closest(tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"Did you mean `small\.gguf`"):
        ModelFiles.find(tmp_path, gguf_file="smal.gguf")


def test_a_gguf_file_in_the_place_of_its_folder_says_how_to_name_it(tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"`gguf_file: small\.gguf`"):
        ModelFiles.find(tmp_path / "small.gguf")


class Hub:
    """A stand-in for the hub: what its cache holds, and what a download brings."""

    class errors:  # noqa: N801
        HfHubHTTPError = ConnectionError

    def __init__(self, *, here=None, there=None):
        self.here, self.there = here, there
        self.downloads = []

    def snapshot_download(self, name, *, revision, allow_patterns, local_files_only):
        if not local_files_only:
            self.downloads.append((name, revision))
        found = self.here if local_files_only else self.there
        if found is None:
            raise OSError("no route to the hub\nand more")
        return str(found)


@pytest.fixture
def hub(monkeypatch):
    def use(**places):
        found = Hub(**places)
        monkeypatch.setattr("rewardhub.builtin.models.files.library", lambda name: found)
        return found

    return use


def test_a_hub_model_in_the_cache_is_not_downloaded(hub, tmp_path):
    used = hub(here=a_folder(tmp_path / "m"))
    assert ModelFiles.find("some/model").path == tmp_path / "m"
    assert used.downloads == []


def test_a_download_is_said_on_the_log(hub, tmp_path, caplog):
    used = hub(there=a_folder(tmp_path / "m"))
    with caplog.at_level(logging.WARNING, logger="rewardhub.models"):
        ModelFiles.find("some/model", revision="v2")
    assert used.downloads == [("some/model", "v2")]
    assert [record.message for record in caplog.records] == [
        "some/model is not in the local cache of the hub: downloading it"
    ]


def test_a_snapshot_that_lacks_a_shard_is_downloaded(hub, tmp_path):
    index = json.dumps({"weight_map": {"a": "model.safetensors", "b": "more.safetensors"}})
    part = a_folder(tmp_path / "part")
    (part / "model.safetensors.index.json").write_text(index)
    used = hub(here=part, there=a_folder(tmp_path / "whole"))
    assert ModelFiles.find("some/model").path == tmp_path / "whole"
    assert len(used.downloads) == 1


def test_a_hub_that_cannot_be_reached_is_named(hub):
    hub()
    with pytest.raises(UsageError, match=r"could not be downloaded: no route to the hub$"):
        ModelFiles.find("some/model")
