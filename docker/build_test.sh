#!/usr/bin/env bash
# Builds the images from build/release/bin with a Docker engine started for this alone, and runs them read-only as their own user with a job from a
# client container: first the CPU image, then tests/provisioning/docker_test.py on it, the cluster of
# containers of examples/cluster where there is a docker compose, then the CUDA images whose backends have been built.
# Where no engine can be started it says so and exits with 77.
# BIN: the programs, in place of build/release/bin. KEDGE_DOCKER_WORK: a folder to keep, so that the next run is faster; KEDGE_DOCKER_BASE: see engine.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. docker/engine.sh
bin=${BIN:-build/release/bin} cpu_image=kedge/server-cpu:test
readonly cluster_image_mb=1500 cuda_image_mb=8000   # of disk, at most, while it is built
work=${KEDGE_DOCKER_WORK:-$(mktemp -d /tmp/kedge-docker-XXXXXX)}
finish() {
  stop_engine
  [ -n "${KEDGE_DOCKER_WORK:-}" ] || rm -rf "$work"
}
trap finish EXIT
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
set -E

since_ms() { echo $((($(date +%s%N) - $1) / 1000000)); }

lap_began=$(date +%s%N)
lap() { echo "[$(since_ms "$lap_began") ms] $*"; lap_began=$(date +%s%N); }

# What ./run.sh images lays beside BIN for images that read Parquet; without it there is no such image.
arrow_files=$bin/../arrow with_arrow=no
[ ! -x "$arrow_files/bin/kedge-arrow" ] || with_arrow=yes

# build NAME DOCKERFILE BASE CUDA ARROW PROGRAM...: from a context of the programs alone, without their debug information, which the
# images leave out anyway and a disk may not have room for several times.
build() {
  local name=$1 dockerfile=$2 base=$3 cuda=$4 arrow=$5 context=$work/context program; shift 5
  rm -rf "$context" && mkdir -p "$context/build/release/bin" "$context/docker"
  [ "$arrow" = no ] || cp -r "$arrow_files" "$context/build/release/arrow"
  for program; do strip -o "$context/build/release/bin/$program" "$bin/$program"; done
  cp docker/collect.sh "$context/docker/"
  docker build --network host -f "$dockerfile" --build-arg BASE="$base" --build-arg PROGRAMS=prebuilt --build-arg CUDA="$cuda" --build-arg ARROW="$arrow" -t "$name" "$context" >"$work/build.log" 2>&1 ||
    { tail -30 "$work/build.log"; exit 1; }
  rm -rf "$context"
}

# build_image as build: an image of a server.
build_image() {
  build "$@"
  [ "$(docker inspect -f '{{.Config.User}}' "$1")" = 10001:10001 ]
  [ "$(docker inspect -f '{{.Config.StopSignal}}' "$1")" = SIGTERM ]
}

# context_configures: what .dockerignore leaves of the sources is enough for CMake; compiling it in a container takes too long here.
context_configures() {
  local folder=$work/sources id
  mkdir -p "$folder/root"
  printf 'FROM scratch\nCOPY . /source\nENTRYPOINT ["/none"]\n' >"$folder/Dockerfile"
  docker build -q -f "$folder/Dockerfile" -t kedge/sources:test . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
  id=$(docker create kedge/sources:test)
  docker export "$id" | tar -x -C "$folder/root" source
  docker rm -v "$id" >/dev/null
  cmake -S "$folder/root/source" -B "$folder/root/build" -DKEDGE_TESTS=OFF -DKEDGE_CUDA=OFF >"$work/build.log" 2>&1 ||
    { tail -20 "$work/build.log"; exit 1; }
  rm -rf "$folder"
}

# check_contents IMAGE: no shell, no package manager, nothing setuid, files of one time, what it is said to be.
check_contents() {
  local id list=$work/contents.txt
  id=$(docker create "$1")
  docker export "$id" | tar -tv --full-time >"$list"
  docker rm -v "$id" >/dev/null
  if grep -E '^-[^ ]*s|/(sh|bash|dash|busybox|apt|apt-get|dpkg)$' "$list"; then echo "$1 holds what it is not to hold"; exit 1; fi
  [ "$(awk '/^-/ && $3 > 0 { print $4, $5 }' "$list" | sort -u | wc -l)" = 1 ] || { echo "files of several times"; exit 1; }
  [ "$(docker inspect -f '{{index .Config.Labels "org.opencontainers.image.licenses"}}' "$1")" = Apache-2.0 ]
}

wait_for() {   # wait_for WHAT COMMAND...: at most a minute, then shows what the containers printed
  local what=$1 begin; shift
  begin=$(date +%s%N)
  until "$@" >/dev/null 2>&1; do
    sleep 0.05
    [ "$(since_ms "$begin")" -lt 60000 ] || { echo "not within a minute: $what"; docker ps -aq | xargs -n 1 docker logs; exit 1; }
  done
}

started=
start_server() {   # start_server IMAGE: and reads what its first start prints
  started=$(date +%s%N)
  docker run -d --name server --network host --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
    -e KEDGE_LISTEN=127.0.0.1:5399 "$1" >/dev/null
  wait_for "an answer over TLS" curl -fsk https://127.0.0.1:5399/readyz
  echo "ready $(since_ms "$started") ms after docker run began"
  [ "$(logged KEDGE_URL)" = https://localhost:5399 ]
  pin=$(logged KEDGE_PIN) token=$(logged KEDGE_TOKEN)
  [ ${#pin} = 64 ] && [ ${#token} -ge 32 ]
}

stop_server() {
  docker stop -t 20 server >/dev/null
  [ "$(docker inspect -f '{{.State.ExitCode}}' server)" = 0 ]
  docker rm -v server >/dev/null
}

docker_says_healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' server)" = healthy ]; }

logged() { docker logs server 2>&1 | sed -n "s/.*$1=//p"; }

client() {   # client TOKEN ARGUMENTS...: the command in a container of its own
  local with=$1; shift
  docker run --rm --network host --read-only --cap-drop ALL -v "$PWD/examples:/examples:ro" -v "$PWD/tests/support/parquet:/parquet:ro" --tmpfs /tmp -e KEDGE_STATE_DIR=/tmp/state \
    -e KEDGE_URL=https://127.0.0.1:5399 -e KEDGE_PIN="$pin" -e KEDGE_TOKEN="$with" --entrypoint /kedge/kedge $cpu_image "$@"
}

# try_parquet: a job on a Parquet file, or, without the reader, a sentence.
try_parquet() {
  if [ "$with_arrow" = yes ]; then
    client "$token" data add /parquet/iris.parquet
    client "$token" run /parquet/iris.json
  else
    ! client "$token" data add /parquet/iris.parquet 2>"$work/refused.txt" || { echo "a Parquet file is read without kedge-arrow"; exit 1; }
    grep -q 'kedge-arrow is not installed' "$work/refused.txt"
  fi
}

# try_slim_image: without kedge-arrow, where the other one has it. Its contents and size.
try_slim_image() {
  local image=kedge/server-cpu:test-slim
  build_image $image docker/server-cpu.Dockerfile debian:bookworm-slim none no kedge kedged kedge-worker
  check_contents $image
  DOCKER=docker sh docker/sizes.sh $image
  docker rmi $image >/dev/null
  lap "CPU image without kedge-arrow built"
}

try_cpu_image() {
  build_image $cpu_image docker/server-cpu.Dockerfile debian:bookworm-slim none $with_arrow kedge kedged kedge-worker
  check_contents $cpu_image
  lap "CPU image built"
  DOCKER=docker sh docker/sizes.sh $cpu_image | tee "$work/sizes.txt"
  local compressed
  compressed=$(awk '/compressed/ { print int($1) }' "$work/sizes.txt")
  [ "$compressed" -le 80 ] || { echo "the image has $compressed MB compressed, at most 80 are allowed"; exit 1; }
  start_server $cpu_image
  wait_for "HEALTHCHECK" docker_says_healthy
  echo "HEALTHCHECK says healthy $(since_ms "$started") ms after docker run began"
  client "$token" run /examples/iris.json
  try_parquet
  if client wrong jobs 2>"$work/refused.txt"; then echo "a wrong token is let in"; exit 1; fi
  grep -q UNAUTHENTICATED "$work/refused.txt"
  docker restart -t 20 server >/dev/null   # the certificate and the token are those of the first start
  wait_for "an answer after a restart" client "$token" jobs
  stop_server
  lap "the CPU image works"
}

compose() {   # the plug-in of docker, or Debian's docker-compose
  if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi
}

# scores DEVICE URL COMMAND...: of a job on the server at this address, as `kedge`, started by the command in a container, says.
scores() {
  local device=$1 url=$2 forest='{"estimator": "RandomForestClassifier", "params": {"n_estimators": 12, "random_state": 0}}'; shift 2
  echo '{"dataset": {"builtin": "digits"}, "pipeline": ['"$forest"'], "task": {"crossValidate": {"cv": 4}}}' |
    "$@" env KEDGE_URL="$url" KEDGE_PIN="$pin" KEDGE_TOKEN="$token" kedge --json run - --device "$device" |
    sed -n 's/.*"scores":{\([^}]*\)}.*/\1/p'
}

head_runs() { compose exec -T head "$@"; }
six_ranks() { head_runs kedge --json doctor --cluster | grep -qE '"well": *true'; }

# try_compose: the example of compose as it is, in a folder with its key. Six ranks in three containers give the scores of one process, again
# after a container was lost and came back.
try_compose() {
  local url=https://localhost:5334 alone printed
  docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || { echo "no cluster by compose: there is no docker compose (Debian's docker-compose)"; return 0; }
  { docker network create kedge-probe && docker network rm kedge-probe; } >/dev/null 2>&1 || { echo "no cluster by compose: the engine makes no network here"; return 0; }
  export KEDGE_IMAGE=kedge/cluster:test KEDGE_PORT=5398 COMPOSE_PROJECT_NAME=kedge-cluster-test
  cp examples/cluster/compose.yaml "$work/cluster/"
  pushd "$work/cluster" >/dev/null
  compose up -d >"$work/compose.log" 2>&1 || { cat "$work/compose.log"; exit 1; }
  wait_for "six ranks" six_ranks
  head_runs kedge doctor --cluster
  printed=$(compose logs --no-color head)
  pin=$(sed -n 's/.*KEDGE_PIN=//p' <<<"$printed") token=$(sed -n 's/.*KEDGE_TOKEN=//p' <<<"$printed")
  alone=$(scores cpu $url head_runs)
  [ -n "$alone" ]
  [ "$(scores cluster $url head_runs)" = "$alone" ]
  compose kill node3 >/dev/null 2>&1
  compose start node3 >/dev/null 2>&1
  wait_for "six ranks again" six_ranks
  [ "$(scores cluster $url head_runs)" = "$alone" ]
  compose down -v >/dev/null 2>&1
  popd >/dev/null
  unset KEDGE_IMAGE KEDGE_PORT COMPOSE_PROJECT_NAME
  lap "three containers as a cluster of six ranks"
}

on_rented() { docker exec -i server "$@"; }
agent_has_ended() { [ "$(docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' agent)" = "exited 0" ]; }

# try_rented: the containers of a rented cluster, with the options of provisioning/bootstrap.cc, here on one machine. The agent ends after its head.
try_rented() {
  local url=https://localhost:5399 alone
  local -a options=(--network host --shm-size 1g -v /var/tmp --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges -e KEDGE_HOST_KEY)
  KEDGE_HOST_KEY=$(cat "$work/cluster/cluster.key"); export KEDGE_HOST_KEY
  docker run -d --name agent "${options[@]}" -e KEDGE_HOST_AGENT=127.35.35.35:5335 -e KEDGE_AGENT_IDLE_END=8 kedge/cluster:test >/dev/null
  docker run -d --name server "${options[@]}" -e KEDGE_LISTEN=127.0.0.1:5399 -e KEDGE_CLUSTER_RANKS=2 \
    -e KEDGE_CLUSTER_HOSTS=localhost:1,127.35.35.35:1 kedge/cluster:test >/dev/null
  unset KEDGE_HOST_KEY
  wait_for "an answer over TLS" curl -fsk https://127.0.0.1:5399/readyz
  pin=$(logged KEDGE_PIN) token=$(logged KEDGE_TOKEN)
  alone=$(scores cpu $url on_rented)
  [ -n "$alone" ]
  [ "$(scores cluster $url on_rented)" = "$alone" ]
  stop_server
  wait_for "the end of the agent" agent_has_ended
  docker rm -v agent >/dev/null
  lap "two containers as a rented cluster"
}

# try_cluster: the image of examples/cluster.
try_cluster() {
  [ -f "$bin/libkedge_mpi.so" ] || { echo "no cluster of containers: $bin has no libkedge_mpi.so"; return 0; }
  has_room $cluster_image_mb || { echo "no cluster of containers: $work has less than $cluster_image_mb MB free"; return 0; }
  build kedge/cluster:test examples/cluster/Dockerfile debian:bookworm-slim none no kedge kedged kedge-worker libkedge_mpi.so
  lap "image of a cluster's hosts built"
  mkdir -p "$work/cluster"
  rm -f "$work/cluster/cluster.key"
  "$bin/kedge" host-agent --new-key "$work/cluster/cluster.key" >/dev/null
  try_compose
  try_rented
  docker rmi kedge/cluster:test >/dev/null
}

# build_cuda_base PLUGIN LIBRARIES PLACE: Debian and the CUDA libraries that the backend loads; no registry is asked for NVIDIA's image
build_cuda_base() {
  local context=$work/cuda library
  rm -rf "$context" && mkdir -p "$context/lib64"
  LD_LIBRARY_PATH=$2 ldd "$bin/$1" | sed -nE "s|.*=> ($2/[^ ]*).*|\1|p" | while read -r library; do
    cp -L "$library" "$context/lib64/$(basename "$library")"
  done
  printf 'FROM debian:bookworm-slim\nCOPY lib64 %s\n' "$3" >"$context/Dockerfile"
  docker build -q -t kedge/cuda-base:test "$context" >"$work/build.log" 2>&1
  rm -rf "$context"
}

# has_room MB: whether the disk of the images has it.
has_room() { [ "$(df --output=avail -BM "$work" | tail -n 1 | tr -dc 0-9)" -ge "$1" ]; }

# try_cuda_image CUDA PLUGIN LIBRARIES PLACE: started without a GPU, as here, it must say why it has none, and work on the CPU.
try_cuda_image() {
  local image=kedge/server:test-cuda$1
  [ -f "$bin/$2" ] || { echo "no image for CUDA $1: $bin has no $2"; return 0; }
  [ -d "$3" ] || { echo "no image for CUDA $1: $3 is not there"; return 0; }
  docker image prune -f >/dev/null   # what earlier images were built from
  has_room $cuda_image_mb || { echo "no image for CUDA $1: $work has less than $cuda_image_mb MB free"; return 0; }
  build_cuda_base "$2" "$3" "$4"
  build_image "$image" docker/server.Dockerfile kedge/cuda-base:test "$1" $with_arrow kedge kedged kedge-worker kedge-gpu-check "$2"
  check_contents "$image"
  lap "image for CUDA $1 built"
  DOCKER=docker COMPRESS=${COMPRESS_CUDA:-no} sh docker/sizes.sh "$image"
  start_server "$image"
  wait_for "devices" client "$token" doctor
  client "$token" doctor | tee "$work/doctor.txt"
  grep -q 'cuda .*not available: no NVIDIA driver' "$work/doctor.txt"
  client "$token" run /examples/iris.json
  stop_server
  docker rmi "$image" >/dev/null
  lap "the image for CUDA $1 works"
}

cuda_toolkit() {   # that of the nvcc on the PATH, or where NVIDIA's packages put it
  local nvcc
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc) && echo "${nvcc%/bin/nvcc}"
}

start_engine "$work"
lap "engine started"
import_base
lap "base made"
context_configures
lap "the sources are all in the context"
try_cpu_image
[ $with_arrow = no ] || try_slim_image
KEDGE_BIN=$bin KEDGE_DOCKER_NETWORK=host KEDGE_IMAGE=$cpu_image python3 tests/provisioning/docker_test.py || exit 1   # here it may not skip itself
lap "machines that are containers"
try_cluster
try_cuda_image 13 libkedge_cuda.so "$(cuda_toolkit)/lib64" /usr/local/cuda/lib64
try_cuda_image 12 libkedge_cuda12.so "$PWD/build/cuda12/toolkit/lib64" /usr/local/cuda-12/lib64
left=$(docker ps -a; docker volume ls)
[ "$(wc -l <<<"$left")" = 2 ] || { echo "left behind:"; echo "$left"; exit 1; }
