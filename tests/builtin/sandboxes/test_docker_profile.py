import json

from rewardhub.builtin.sandboxes.docker_profile import seccomp_profile
from rewardhub.builtin.sandboxes.inside.calls import refused_names


def test_refuses_what_the_filter_of_a_job_refuses() -> None:
    rules = json.loads(seccomp_profile())["syscalls"]
    assert set(rules[0]["names"]) == set(refused_names())
    assert {"io_uring_setup", "bpf", "keyctl", "mount", "ptrace"} <= set(rules[0]["names"])


def test_every_rule_refuses() -> None:
    rules = json.loads(seccomp_profile())["syscalls"]
    assert {rule["action"] for rule in rules} == {"SCMP_ACT_ERRNO"}


def test_what_the_warden_needs_is_let_through() -> None:
    refused = {
        name
        for rule in json.loads(seccomp_profile())["syscalls"]
        if "args" not in rule
        for name in rule["names"]
    }
    assert not refused & {"seccomp", "prctl", "setresuid", "setgroups", "kill", "pidfd_open"}
