"""A machine with an address of its own: a network namespace behind a pair of virtual cables."""
import os
import shutil
import subprocess


def available():
    """Whether this machine lets us make namespaces and cables: root in a container often may not."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        Namespace("169.254.77.254").close()
    except subprocess.CalledProcessError:
        return False
    return True


class Namespace:
    """Reachable at `address` from here; programs run inside with command()."""
    count = 0

    def __init__(self, address):
        Namespace.count += 1
        self.name = f"kedge{os.getpid()}n{Namespace.count}"
        self.cable = f"kd{os.getpid() % 100000}x{Namespace.count}"
        self.address = address
        self.ip("netns", "add", self.name)
        self.ip("link", "add", self.cable, "type", "veth", "peer", "name", "up0", "netns", self.name)
        self.ip("link", "set", self.cable, "up")
        self.ip("addr", "add", "169.254.77.1/32", "peer", address + "/32", "dev", self.cable)
        for command in (["addr", "add", address + "/32", "peer", "169.254.77.1/32", "dev", "up0"], ["link", "set", "up0", "up"],
                        ["link", "set", "lo", "up"]):
            self.ip("-n", self.name, *command)

    @staticmethod
    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def join(self, bridge, address, cable):
        """A second cable, to what `bridge` joins."""
        self.ip("link", "add", cable, "type", "veth", "peer", "name", "private0", "netns", self.name)
        self.ip("link", "set", cable, "master", bridge, "up")
        self.ip("-n", self.name, "addr", "add", address + "/8", "dev", "private0")
        self.ip("-n", self.name, "link", "set", "private0", "up")

    def command(self, *arguments):
        return ["ip", "netns", "exec", self.name, *map(str, arguments)]

    def processes(self):
        return [int(pid) for pid in subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True).stdout.split()]

    def close(self):
        for pid in self.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)
        subprocess.run(["ip", "link", "del", self.cable], capture_output=True)


class Network:
    """A private network of machines. Their cables end with their namespaces."""

    def __init__(self):
        self.bridge, self.cables = f"kb{os.getpid() % 100000}", 0
        Namespace.ip("link", "add", self.bridge, "type", "bridge")
        Namespace.ip("link", "set", self.bridge, "up")

    def join(self, machine, address):
        self.cables += 1
        machine.join(self.bridge, address, f"{self.bridge}x{self.cables}")

    def close(self):
        Namespace.ip("link", "del", self.bridge)
