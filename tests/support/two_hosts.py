"""Two hosts on one machine: network namespaces joined by a pair of interfaces, a `kedge host-agent`, and mounts that end with the test. Needs root."""
import ctypes
import os
import pathlib
import shutil
import subprocess

from kedge_server import BIN, wait_for

NETWORKS = ("10.77.35.1", "10.77.35.2")
NEW_MOUNTS = 0x00020000   # CLONE_NEWNS: Python 3.11 has no os.unshare()
LIBC = ctypes.CDLL(None, use_errno=True)


def is_alive(pid):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


class Agent:
    def __init__(self, folder, key, *arguments, inside=(), listen="127.0.0.1:0"):
        self.log = open(folder / "agent.log", "ab")
        self.child = subprocess.Popen([*inside, BIN / "kedge", "host-agent", "--key", key, "--listen", listen, *arguments],
                                      stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = int(self.child.stdout.readline().rsplit(":", 1)[1])

    def stop(self):
        self.child.terminate()
        self.child.wait(30)
        self.child.stdout.close()
        self.log.close()


def network_of(process):
    """Of a folder of /proc; empty where the process has ended."""
    try:
        return os.readlink(process / "ns" / "net")
    except OSError:
        return ""


def join(namespace, kind):
    """A file, which is closed."""
    try:
        if LIBC.setns(namespace, kind) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(namespace)


def keep_mounts_to_oneself():
    """What this process and its children mount from now on is seen by them alone, and ends with the last of them."""
    if LIBC.unshare(NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def small_disk(folder, size):
    """A file system of its own there, for who sees this process's mounts."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", folder], check=True)


def fill(folder):
    """To the last byte. Returns the file that does it."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as out:
        for size in (1 << 20, 1):
            try:
                while True:
                    out.write(bytes(size))
            except OSError:
                pass
    return ballast


class Namespaces:
    """Two hosts: each a process that holds a network and a host name of its own, joined by a pair of interfaces."""

    def __init__(self):
        self.holders = [subprocess.Popen(["unshare", "--net", "--uts", "sleep", "1000"]) for _ in NETWORKS]
        first, second = [holder.pid for holder in self.holders]
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: own not in [os.readlink(f"/proc/{pid}/ns/net") for pid in (first, second)], 20, "two networks")
        wait_for(lambda: all("sleep" in pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in (first, second)), 20, "two hosts")
        self.run(0, "ip", "link", "add", "k1", "type", "veth", "peer", "name", "k2", "netns", str(second))
        for number, address in enumerate(NETWORKS):
            self.run(number, "hostname", f"kedge-n{number + 1}")
            self.run(number, "ip", "address", "add", f"{address}/24", "dev", f"k{number + 1}")
            for name in ("lo", f"k{number + 1}"):
                self.run(number, "ip", "link", "set", name, "up")

    def inside(self, number):
        return ["nsenter", f"--net=/proc/{self.holders[number].pid}/ns/net", f"--uts=/proc/{self.holders[number].pid}/ns/uts"]

    def run(self, number, *command):
        subprocess.run([*self.inside(number), *command], check=True, capture_output=True)

    def enter(self, number):
        """What this thread starts and connects to from now on is on that host, until the function that this returns is called."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open("/proc/thread-self/ns/uts", os.O_RDONLY)

        def leave():
            for file in own:
                join(file, 0)
        for name in ("net", "uts"):
            join(os.open(f"/proc/{self.holders[number].pid}/ns/{name}", os.O_RDONLY), 0)
        return leave

    def cut(self, how):
        """The cable: "unplugged", which both hosts are told by their interfaces, or "silent": the interfaces stay up, and what is sent is lost."""
        if how == "unplugged":
            self.run(1, "ip", "link", "set", "k2", "down")
        else:
            for number, other in enumerate(reversed(NETWORKS)):   # to a hardware address that no machine has
                self.run(number, "ip", "neighbour", "replace", other, "lladdr", "02:00:00:00:00:01", "dev", f"k{number + 1}", "nud", "permanent")

    def mend(self):
        self.run(1, "ip", "link", "set", "k2", "up")
        for number in range(2):
            self.run(number, "ip", "neighbour", "flush", "all")
            self.run(number, "ip", "neighbour", "flush", "nud", "permanent")

    def processes(self, number):
        """Process ids of all that is on the host, but for what holds it."""
        network = os.readlink(f"/proc/{self.holders[number].pid}/ns/net")
        found = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and network_of(entry) == network]
        return {pid for pid in found if is_alive(pid)} - {os.getpid(), self.holders[number].pid}

    def stop(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


def can_make_namespaces():
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ip", "hostname"))):
        return False
    return subprocess.run(["unshare", "--net", "--uts", "ip", "link", "add", "k1", "type", "veth", "peer", "name", "k2"], capture_output=True).returncode == 0
