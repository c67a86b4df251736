"""A machine of the user's, behind a real sshd in a network namespace. Skips itself without root, ip or sshd."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import namespace
from machine import BIN, KilledClients, SPEC, User, wait_until

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
ADDRESS = "198.18.7.2"


class Ssh(KilledClients, unittest.TestCase):
    provider = "ssh"

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        folder = cls.path = pathlib.Path(temporary.name)
        for key in ("host", "user", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        shutil.copy(folder / "user.pub", folder / "authorized")
        (folder / "known").write_text(f"{ADDRESS} " + (folder / "host.pub").read_text())
        (folder / "sshd_config").write_text(
            f"ListenAddress {ADDRESS}:22\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nPidFile none\nUsePAM no\n"
            f"PermitRootLogin prohibit-password\nSetEnv XDG_STATE_HOME={folder}/remote PATH={BIN}:/usr/bin:/bin\n")
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        host = namespace.Namespace(ADDRESS)
        sshd = subprocess.Popen(host.command(SSHD, "-D", "-e", "-f", folder / "sshd_config"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(sshd.wait)
        cls.addClassCleanup(host.close)   # first, and also where what follows fails
        cls.write_config("config", "user", "known")
        wait_until(lambda: cls.ssh("true").returncode == 0, "sshd")

    @classmethod
    def write_config(cls, name, key, known):
        (cls.path / name).write_text(f"Host box\n  HostName {ADDRESS}\n  User root\n  IdentityFile {cls.path}/{key}\n  IdentitiesOnly yes\n"
                                     f"  UserKnownHostsFile {cls.path}/{known}\n")

    @classmethod
    def ssh(cls, *command):
        return subprocess.run(["ssh", "-F", cls.path / "config", "-o", "BatchMode=yes", "box", *command], capture_output=True, text=True)

    def new_user(self, config="config"):
        user = User(KEDGE_SSH_HOSTS="box", KEDGE_SSH_CONFIG=str(self.path / config))
        self.addCleanup(user.folder.cleanup)
        return user

    def setUp(self):
        self.user = self.new_user()

    def machines(self):
        return self.user.servers()   # processes of the host are seen from here

    def test_up_run_and_down_leave_nothing(self):
        user = self.user
        out, _ = user.kedge("up", "--provider", "ssh")
        self.assertTrue(out.startswith(f"https://{ADDRESS}:"), out)
        self.assertIn("accuracy", user.kedge("run", SPEC)[0])
        user.kedge("down")
        self.assertEqual((user.rows(), user.servers()), ([], []))
        self.assertEqual(list((self.path / "remote" / "kedge" / "remote").glob("kedge-*")), [])

    def test_a_host_whose_key_is_not_known_is_refused(self):
        (self.path / "nobody").write_text("")
        self.write_config("unknown", "user", "nobody")
        err = self.new_user("unknown").kedge("up", "--provider", "ssh", code=1)[1]
        self.assertIn("Host key verification failed", err)
        self.assertIn("connect once by hand", err)

    def test_a_refused_user_key_is_said_to_be_refused(self):
        self.write_config("stranger.conf", "stranger", "known")
        self.assertIn("Permission denied", self.new_user("stranger.conf").kedge("up", "--provider", "ssh", code=1)[1])


if __name__ == "__main__":
    if not namespace.available() or not os.path.exists(SSHD) or not shutil.which("ssh-keygen"):
        print("skipped: needs root, ip, sshd and ssh-keygen (Debian: iproute2, openssh-server, openssh-client)")
        sys.exit(77)
    unittest.main()
