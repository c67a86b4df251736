#!/usr/bin/env bash
# Builds the CPU image from build/release/bin with a Docker engine started for this alone, runs it read-only as its own user, runs a job from
# a client container, then tests/provisioning/docker_test.py. Where no engine can be started it says so and exits with 77.
# BIN: the programs, in place of build/release/bin. KEDGE_DOCKER_WORK: a folder to keep, so that the next run is faster.
set -euo pipefail
cd "$(dirname "$0")/.."
. docker/engine.sh
bin=${BIN:-build/release/bin} image=kedge/server-cpu:test
work=${KEDGE_DOCKER_WORK:-$(mktemp -d /tmp/kedge-docker-XXXXXX)}
finish() {
  stop_engine
  [ -n "${KEDGE_DOCKER_WORK:-}" ] || rm -rf "$work"
}
trap finish EXIT

build_image() {
  # A context of its own: the classic builder runs every stage up to the last, and only the programs at hand are wanted here.
  local context=$work/context
  rm -rf "$context" && mkdir -p "$context/build/release/bin" "$context/docker"
  cp "$bin/kedge" "$bin/kedged" "$bin/kedge-worker" "$context/build/release/bin/"
  cp docker/collect.sh "$context/docker/"
  sed '/^FROM ${BASE} AS compiled/,/^RUN .\/run.sh/d' docker/server-cpu.Dockerfile >"$context/Dockerfile"
  docker build --network host --build-arg PROGRAMS=prebuilt -t $image "$context" >"$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }
}

check_contents() {
  DOCKER=docker sh docker/sizes.sh $image | tee "$work/sizes.txt"
  local compressed
  compressed=$(awk '/compressed/ { print int($1) }' "$work/sizes.txt")
  [ "$compressed" -le 80 ] || { echo "the image has $compressed MB compressed, at most 80 are allowed"; exit 1; }
  [ "$(docker inspect -f '{{.Config.User}}' $image)" = 10001:10001 ]
  [ "$(docker inspect -f '{{.Config.StopSignal}}' $image)" = SIGTERM ]
}

since_ms() { echo $((($(date +%s%N) - $1) / 1000000)); }

wait_for() {   # wait_for WHAT COMMAND...: at most a minute, then shows what the server printed
  local what=$1 begin; shift
  begin=$(date +%s%N)
  until "$@" >/dev/null 2>&1; do
    sleep 0.05
    [ "$(since_ms "$begin")" -lt 60000 ] || { echo "not within a minute: $what"; docker logs server; exit 1; }
  done
}

started=
start_server() {
  started=$(date +%s%N)
  docker run -d --name server --network host --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
    -e KEDGE_LISTEN=127.0.0.1:5399 $image >/dev/null
  wait_for "an answer over TLS" curl -fsk https://127.0.0.1:5399/readyz
  echo "ready $(since_ms "$started") ms after docker run began"
}

docker_says_healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' server)" = healthy ]; }

logged() { docker logs server 2>&1 | sed -n "s/.*$1=//p"; }

client() {   # client ENVIRONMENT... -- ARGUMENTS: the command in a container of its own
  local settings=()
  while [ "$1" != -- ]; do settings+=(-e "$1"); shift; done
  shift
  docker run --rm --network host --read-only --cap-drop ALL -v "$PWD/examples:/examples:ro" --tmpfs /tmp -e KEDGE_STATE_DIR=/tmp/state \
    -e KEDGE_URL=https://127.0.0.1:5399 "${settings[@]}" --entrypoint /kedge/kedge $image "$@"
}

start_engine "$work"
import_base
build_image
check_contents
start_server
docker logs server 2>&1 | grep -q 'KEDGE_URL=https://localhost:5399'
pin=$(logged KEDGE_PIN) token=$(logged KEDGE_TOKEN)
[ ${#pin} = 64 ] && [ ${#token} -ge 32 ]
wait_for "HEALTHCHECK" docker_says_healthy
echo "HEALTHCHECK says healthy $(since_ms "$started") ms after docker run began"
client KEDGE_PIN="$pin" KEDGE_TOKEN="$token" -- run /examples/iris.json
! client KEDGE_PIN="$pin" KEDGE_TOKEN=wrong -- jobs 2>"$work/refused.txt"
grep -q UNAUTHENTICATED "$work/refused.txt"
docker restart -t 20 server >/dev/null   # the certificate and the token are those of the first start
wait_for "an answer after a restart" client KEDGE_PIN="$pin" KEDGE_TOKEN="$token" -- jobs
docker stop -t 20 server >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' server)" = 0 ]
docker rm -v server >/dev/null
KEDGE_BIN=$bin KEDGE_DOCKER_NETWORK=host KEDGE_IMAGE=$image python3 tests/provisioning/docker_test.py || exit 1   # here it may not skip itself
left=$(docker ps -a; docker volume ls)
[ "$(wc -l <<<"$left")" = 2 ] || { echo "left behind:"; echo "$left"; exit 1; }
echo "the CPU image works"
