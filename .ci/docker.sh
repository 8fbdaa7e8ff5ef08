#!/usr/bin/env bash
# A Docker daemon for the tests, with the image that they use.
#
#   bash .ci/docker.sh BIN     install Docker if it is missing, start a daemon if none answers, build
#                              the image with BIN/rewardhub (as .venv/bin), and print the address
#                              of the daemon, for REWARDHUB_DOCKER
#   bash .ci/docker.sh stop    end the daemon that was started so
#
# Exit code 3: Docker cannot run here at all (no Linux, not root, no package). May be called again.
# An address in REWARDHUB_DOCKER is used as it is: no daemon is started then.
set -euo pipefail

folder=${REWARDHUB_DOCKER_FOLDER:-/tmp/rewardhub-docker}
address=${REWARDHUB_DOCKER:-unix://$folder/docker.sock}

say() { echo "docker.sh: $*" >&2; }

cannot() {
    say "Docker cannot run here: $*"
    exit 3
}

answers() {
    "$bin/python" -c "import docker; docker.DockerClient('$address', timeout=5).ping()" 2>/dev/null
}

install_docker() {
    command -v dockerd >/dev/null && command -v iptables >/dev/null && return
    command -v apt-get >/dev/null || cannot "dockerd is not installed, and there is no apt-get"
    say "installing docker.io and iptables"
    apt-get update >&2
    DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends docker.io iptables >&2
}

start_daemon() {
    say "starting dockerd at $address (log: $folder/log)"
    rm -f "$folder/pid"
    setsid nohup dockerd --data-root "$folder/data" --exec-root "$folder/exec" \
        --pidfile "$folder/pid" --host "$address" </dev/null >"$folder/log" 2>&1 &
    local daemon=$!
    for _ in $(seq 300); do
        answers && return
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 20 "$folder/log" >&2
    say "dockerd did not come up"
    exit 1
}

if [ "${1:-}" = stop ]; then
    if [ -f "$folder/pid" ]; then kill "$(cat "$folder/pid")" 2>/dev/null || true; fi
    exit 0
fi

bin=${1:?the folder of the rewardhub command, as .venv/bin}
if [ -z "${REWARDHUB_DOCKER:-}" ]; then
    [ "$(uname)" = Linux ] || cannot "this is no Linux"
    [ "$(id -u)" = 0 ] || cannot "only root can start a daemon; name one in REWARDHUB_DOCKER"
    mkdir -p "$folder"
    install_docker
    answers || start_daemon
fi
"$bin/rewardhub" sandbox image --host "$address" >&2
echo "$address"
