#!/bin/sh
# try_debian13.sh DIST: a job by the wheels in DIST under Debian 13's Python 3.13, in a root of its own. Needs root and mmdebstrap; fetches 160 MB once.
set -eu
dist=$(cd "$1" && pwd) base=$(dirname "$dist")/debian13.tar part=${base%.tar}.part.tar
# mmdebstrap chooses what it makes by the name: without ".tar" a folder.
[ -f "$base" ] || { mmdebstrap --quiet --variant=minbase --include=python3,python3-venv trixie "$part"; mv "$part" "$base"; }
root=$(mktemp -d)
trap 'umount "$root/proc" "$root/dev/shm" 2>/dev/null || true; rm -rf "$root"' EXIT
tar -C "$root" -xf "$base"
mkdir "$root/wheels"
cp "$dist"/*.whl "$root/wheels/"
# numpy comes with the system's pip, so that the root needs no network.
python3 -m pip download --quiet --only-binary :all: --no-deps --python-version 3.13 --platform manylinux_2_28_x86_64 --dest "$root/wheels" numpy
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
cat > "$root/job.py" <<'JOB'
import sys
import kedge
with kedge.server() as session:
    result = session.run(kedge.builtin("iris"), ["StandardScaler", "LogisticRegression"], kedge.cross_validate(cv=5))
    print(f"Python {sys.version.split()[0]}, kedge {session.info()['version']}: accuracy {result.mean('accuracy'):.4f}")
JOB
env -i PATH="$PATH" chroot "$root" sh -euc 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index --find-links /wheels kedge-ml kedge-server
/venv/bin/python /job.py
/venv/bin/kedge --version'
