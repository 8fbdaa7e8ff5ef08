"""One model per process for each key."""

import threading

import pytest

from rewardhub import lease_model


class Loaded:
    def __init__(self):
        self.closed = 0

    def close(self):
        self.closed += 1


def test_two_holders_share_one_model():
    with lease_model("a", Loaded) as first, lease_model("a", Loaded) as second:
        assert first is second


def test_other_keys_get_other_models():
    with lease_model("a", Loaded) as first, lease_model("b", Loaded) as second:
        assert first is not second


def test_the_last_release_closes_the_model():
    first, second = lease_model("a", Loaded), lease_model("a", Loaded)
    first.release()
    assert first.model.closed == 0
    second.release()
    assert first.model.closed == 1


def test_a_lease_released_twice_counts_once():
    first, second = lease_model("a", Loaded), lease_model("a", Loaded)
    first.release()
    first.release()
    assert second.model.closed == 0
    second.release()


def test_a_model_that_was_let_go_is_made_anew():
    with lease_model("a", Loaded) as first:
        pass
    with lease_model("a", Loaded) as second:
        assert first is not second


def test_a_model_that_could_not_be_made_is_tried_again():
    with pytest.raises(OSError, match="gone"):
        lease_model("a", lambda: (_ for _ in ()).throw(OSError("gone")))
    with lease_model("a", Loaded) as model:
        assert isinstance(model, Loaded)


def test_threads_that_ask_at_once_make_one_model():
    made, started = [], threading.Event()

    def make():
        started.wait(10)
        made.append(Loaded())
        return made[-1]

    leases = []
    threads = [
        threading.Thread(target=lambda: leases.append(lease_model("a", make))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join()
    for lease in leases:
        lease.release()
    assert (len(made), len(leases), made[0].closed) == (1, 8, 1)
