#!/usr/bin/env bash
# Kedge compared with the newest scikit-learn on this machine, in one run: ./run.sh bench [--quick] [--only NAME ...]
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ ! -x build/bench-venv/bin/python ]; then
  python3 -m venv build/bench-venv
  build/bench-venv/bin/pip install --quiet --upgrade scikit-learn 'pandas<3'   # fetch_openml of 1.9 does not run on pandas 3
fi
cmake --preset release >/dev/null
cmake --build build/release --target kedged kedge kedge-worker >/dev/null
KEDGE_BIN="$PWD/build/release/bin" exec build/bench-venv/bin/python tests/bench/compare.py "$@"
