#!/usr/bin/env python3
"""Cold start phase by phase: `kedge up` on local, docker and ssh, the first job and a second one, `kedge down`. Prints a table of medians.

KEDGE_BIN: release programs. ssh needs root and sshd (a network namespace is the machine). docker needs KEDGE_DOCKER_WORK, the folder that
docker/build_test.sh used: an engine is started on it. What cannot be had is left out, with the reason.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "provisioning"))
from machine import SPEC, User  # noqa: E402

ROUNDS = 5
IMAGE = "kedge/server-cpu:test"
PHASES = ["offers", "launch", "boot", "start"]
COLUMNS = [*PHASES, "up", "first job", "second job", "down"]
WITH_ENGINE = '. docker/engine.sh; start_engine "$0"; trap stop_engine EXIT; "$@"'


def timed(user, *arguments):
    begin = time.perf_counter()
    out, _ = user.kedge(*arguments)
    return time.perf_counter() - begin, out


def one_round(user, provider):
    row = {}
    row["up"], out = timed(user, "--json", "up", "--provider", provider)
    row |= {line["phase"]: line["seconds"] for line in map(json.loads, out.splitlines()) if "phase" in line}
    row["first job"], _ = timed(user, "run", SPEC)
    row["second job"], _ = timed(user, "run", SPEC)
    row["down"], _ = timed(user, "down")
    return row


def measure(user, provider):
    one_round(user, provider)   # the programs are read from disk once
    rounds = [one_round(user, provider) for _ in range(ROUNDS)]
    cells = [f"{statistics.median(r[c] for r in rounds):.2f}" for c in COLUMNS]
    print(f"| {provider} | " + " | ".join(cells) + " |", flush=True)


def local():
    user = User()
    measure(user, "local")
    user.close()


def docker():
    if subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True).returncode != 0:
        return print(f"docker is left out: no engine with the image {IMAGE} (KEDGE_DOCKER_WORK)")
    user = User(KEDGE_IMAGE=IMAGE, KEDGE_DOCKER_NETWORK="host")
    measure(user, "docker")
    user.close()


def ssh():
    import namespace
    from ssh_test import SSHD, Ssh
    if not namespace.available() or not os.path.exists(SSHD):
        return print("ssh is left out: no root, no namespaces or no sshd")
    Ssh.setUpClass()
    try:
        measure(User(KEDGE_SSH_HOSTS="box", KEDGE_SSH_CONFIG=str(Ssh.path / "config")), "ssh")
    finally:
        Ssh.tearDownClass()


def main():
    folder = os.environ.pop("KEDGE_DOCKER_WORK", "")
    if folder:   # again, with an engine around it
        os.chdir(ROOT)
        os.execvp("bash", ["bash", "-c", WITH_ENGINE, folder, sys.executable, __file__])
    print("| seconds | " + " | ".join(COLUMNS) + " |\n|---|" + "---|" * len(COLUMNS), flush=True)
    for provider in (local, docker, ssh):
        provider()


if __name__ == "__main__":
    main()
