from __future__ import annotations

import threading
import time

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers.schedule import Job, Schedule


def job(*, alone: bool = False) -> Job:
    return Job(payload=b"", limits=Limits(), alone=alone, canary=False)


def test_hands_out_jobs_in_order() -> None:
    schedule, jobs = Schedule(), [job() for _ in range(3)]
    for one in jobs:
        schedule.put(one)
    assert [schedule.take() for _ in jobs] == jobs


def test_hands_out_a_lone_job_before_others() -> None:
    schedule, first, lone = Schedule(), job(), job(alone=True)
    schedule.put(first)
    schedule.put(lone)
    assert schedule.take() is lone


def test_holds_everything_back_until_a_lone_job_has_had_its_turn() -> None:
    schedule, running, lone, other = Schedule(), job(), job(alone=True), job()
    schedule.put(running)
    assert schedule.take() is running
    schedule.put(lone)
    schedule.put(other)
    taken: list[tuple[Job | None, int]] = []
    over = [0]

    def work() -> None:
        while (one := schedule.take()) is not None:
            taken.append((one, over[0]))
            over[0] += 1
            schedule.done()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert taken == []
    over[0] += 1
    schedule.done()
    while len(taken) < 2:
        time.sleep(0.001)
    schedule.close()
    for thread in threads:
        thread.join()
    # Each was taken after the one before it was over.
    assert taken == [(lone, 1), (other, 2)]


def test_returns_what_still_waits_when_closed() -> None:
    schedule, first, lone = Schedule(), job(), job(alone=True)
    schedule.put(first)
    schedule.put(lone)
    assert schedule.close() == [lone, first]
    assert schedule.take() is None
    assert not schedule.put(job())
