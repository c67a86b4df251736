"""Row I2: the Debian package installs, serves, upgrades, and keeps its data when it is removed but not when it is purged.

python3 package.py I2 [--long] [--control NAME]"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rows import BIN, FINAL, ROOT, CannotRun, main, tool

BUILD = ROOT / "packaging" / "build_deb.sh"
JOB = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"crossValidate": {"cv": 2}}}

# Within a mount namespace: this machine's root under a layer that takes all changes; then what stands in "$2", in that root.
LAYERED = """set -e
mount -t tmpfs tmpfs "$1" && mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
mount --rbind /proc "$1/root/proc" && mount --rbind /dev "$1/root/dev" && mount -t tmpfs tmpfs "$1/root/tmp" && mount -t tmpfs tmpfs "$1/root/run"
cp "$3" "$1/root/tmp/first.deb" && cp "$4" "$1/root/tmp/second.deb"
exec chroot "$1/root" /bin/sh -c "$2"
"""

# Each line that begins with SAYS is read below.
LIFE = """set -e
says() { echo "SAYS $*"; }
serve() {   # one job, by the service's user, then the server is stopped
  setpriv --reuid kedge --regid kedge --clear-groups /usr/bin/kedged --config /etc/kedge/kedged.toml --listen 127.0.0.1:0 --port-file /var/lib/kedge/port --devices cpu 2> /tmp/log & server=$!
  for i in $(seq 200); do [ -s /var/lib/kedge/port ] && break; sleep 0.1; done
  url="http://127.0.0.1:$(cat /var/lib/kedge/port)"
  says job "$(curl -s --max-time 60 -H 'Content-Type: application/json' -d '%s' "$url/v1/jobs?wait=30s" | tr -d '\\n')"
  says jobs "$(curl -s --max-time 10 "$url/v1/jobs" | tr -d '\\n')"
  kill $server; wait $server || says end $?
  rm -f /var/lib/kedge/port
}
state() { says "$1" data "$(test -e /var/lib/kedge/kedge.db && echo kept || echo gone)" programs "$(ls /usr/bin/kedge /usr/bin/kedged /usr/bin/kedge-worker /usr/bin/kedge-gpu-check 2> /dev/null | wc -l)" settings "$(test -e /etc/kedge/kedged.toml && echo kept || echo gone)" mode "$(stat -c %%a:%%U /var/lib/kedge 2> /dev/null)"; }
export DEBIAN_FRONTEND=noninteractive
dpkg -i /tmp/first.deb > /tmp/dpkg 2>&1 || { cat /tmp/dpkg; exit 3; }
serve; state installed
echo '# by hand' >> /etc/kedge/kedged.toml
dpkg --force-confold -i /tmp/second.deb > /tmp/dpkg 2>&1 || { cat /tmp/dpkg; exit 4; }
says version "$(dpkg-query -W -f '${Version}' kedge)"
serve; state upgraded; says edited "$(grep -c 'by hand' /etc/kedge/kedged.toml)"
dpkg -r kedge > /dev/null; state removed
dpkg -i /tmp/second.deb > /dev/null 2>&1; serve; state again
dpkg -P kedge > /dev/null; state purged
says left "$(find /etc /lib/systemd /usr /var -xdev -path '*kedge*' -not -path '*/dpkg/*' -newer /tmp/first.deb 2> /dev/null | head -3 | tr '\\n' ' ')"
""" % json.dumps(JOB)


def deb(row):
    """The package of what was built, as revision +1."""
    made = subprocess.run([BUILD, BIN, row.folder], capture_output=True, text=True, env={**os.environ, "KEDGE_DEB_REVISION": "+1"})
    assert made.returncode == 0, made.stderr[-2000:]
    package = pathlib.Path(made.stdout.strip())
    if row.control == "forgetful":
        def forget(tree):
            script = tree / "DEBIAN" / "postrm"
            script.write_text(script.read_text().replace('"$1" = purge', '"$1" != upgrade'))
        changed(package, package, forget)
    return package


def changed(package, to, change):
    """Writes the package once more, after change(its tree); not compressed, which takes longest."""
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        tree = pathlib.Path(folder) / "tree"
        subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
        change(tree)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, to], check=True, capture_output=True)
    return to


def earlier(package):
    """The same package without a revision, from which one upgrades."""
    def without_revision(tree):
        control = tree / "DEBIAN" / "control"
        control.write_text(re.sub(r"^(Version: .*)\+1$", r"\1", control.read_text(), flags=re.M))
    return changed(package, package.with_name("earlier.deb"), without_revision)


def check_lintian(row, package):
    if not shutil.which("lintian"):
        return "lintian is not there"
    found = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", package], capture_output=True, text=True)
    row.expect(found.returncode == 0, f"lintian: {found.stdout[:1000]}{found.stderr[:300]}")
    broken = len(re.findall("^E:", found.stdout, re.M))
    return f"lintian: {broken} errors, {len(re.findall('^W:', found.stdout, re.M))} warnings"


def check_piuparts(row, package):
    piuparts = subprocess.run([tool("piuparts"), "--distribution", "bookworm", "--mirror", "http://deb.debian.org/debian main", "--warn-on-others",
                               "--warn-on-debsums-errors", "--no-eatmydata", package],
                              capture_output=True, text=True, timeout=1800)
    row.expect(piuparts.returncode == 0, f"piuparts: {piuparts.stdout[-1500:]}")
    return "piuparts " + ("passed" if piuparts.returncode == 0 else "failed")


def i2(row):
    """Install, a job, upgrade, a job, remove, install, purge: programs, settings and data are there when they should be, and only then."""
    for name in ("dpkg-shlibdeps", "strip", "curl", "unshare", "setpriv", "adduser"):
        tool(name)
    second = deb(row)
    first = earlier(second)
    figures = [check_lintian(row, second)]
    files = subprocess.run(["dpkg-deb", "--contents", second], capture_output=True, text=True, check=True).stdout
    for file in ("man/man1/kedge.1.gz", "man/man8/kedged.8.gz", "bash-completion/completions/kedge", "vendor-completions/_kedge", "vendor_completions.d/kedge.fish"):
        row.expect(f"/{file}\n" in files, f"{file} is not in the package")
    (row.folder / "layers").mkdir()
    run = subprocess.run(["unshare", "--mount", "sh", "-c", LAYERED, "sh", row.folder / "layers", LIFE, first, second], capture_output=True, text=True, timeout=300)
    if "SAYS" not in run.stdout and ("mount" in run.stderr or "unshare" in run.stderr):
        raise CannotRun(f"no layer can be mounted: {run.stderr.strip()[:200]}")
    said = [line[5:] for line in run.stdout.splitlines() if line.startswith("SAYS ")]
    row.expect(run.returncode == 0, f"a step failed: {run.stdout[-800:]} {run.stderr[-800:]}")
    for state, data, programs, settings in (("installed", "kept", 4, "kept"), ("upgraded", "kept", 4, "kept"), ("removed", "kept", 0, "kept"), ("again", "kept", 4, "kept"), ("purged", "gone", 0, "gone")):
        found = next((line for line in said if line.startswith(state + " data")), f"{state}: nothing")
        row.expect(found.startswith(f"{state} data {data} programs {programs} settings {settings}"), found)
        row.expect(data == "gone" or found.endswith("mode 700:kedge"), f"the directory: {found}")
    jobs = [json.loads(line[4:]) for line in said if line.startswith("job ")]
    row.expect([job.get("state") for job in jobs] == ["succeeded"] * 3, f"the jobs ended {[job.get('state') for job in jobs]}")
    listed = [len(json.loads(line[5:])["jobs"]) for line in said if line.startswith("jobs ")]
    row.expect(listed == [1, 2, 3], f"the server knows {listed} jobs after each start")
    row.expect("edited 1" in said, "settings that were edited are lost by an upgrade")
    row.expect(any(line.startswith("version ") and line.endswith("+1") for line in said), "the upgrade did not happen")
    row.expect("left " in said, f"behind a purge: {[line for line in said if line.startswith('left')]}")
    if row.long:
        figures.append(check_piuparts(row, second))
    return f"{second.stat().st_size >> 20} MiB; {', '.join(figures)}; jobs known after each start {listed}"


if __name__ == "__main__":
    sys.exit(main({"I2": i2}, {"I2": ["forgetful"]}))
