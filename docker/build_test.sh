#!/usr/bin/env bash
# Builds the CPU image from build/release/bin with a Docker engine started for this alone, runs it read-only as its own user, runs a job from
# a client container. Needs root and Debian's docker.io and mmdebstrap; skips itself (77) without. BIN: the programs, in place of build/release/bin.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in dockerd docker mmdebstrap; do
  [ "$(id -u)" = 0 ] && command -v $tool >/dev/null || { echo "skipped: needs root, dockerd, docker and mmdebstrap"; exit 77; }
done
work=${KEDGE_DOCKER_WORK:-$(mktemp -d /tmp/kedge-docker-XXXXXX)}
mkdir -p "$work"
export DOCKER_HOST=unix://$work/d.sock DOCKER_BUILDKIT=0
echo '{}' >"$work/daemon.json"
dockerd -H "$DOCKER_HOST" --data-root "$work/data" --exec-root "$work/exec" -p "$work/d.pid" --config-file "$work/daemon.json" \
  --storage-driver overlay2 --iptables=false --ip6tables=false --bridge=none >"$work/dockerd.log" 2>&1 &
engine=$!
finish() {
  docker ps -aq | xargs -r docker rm -f >/dev/null 2>&1 || true
  kill $engine 2>/dev/null && wait $engine 2>/dev/null || true
  umount "$work/exec/netns/default" 2>/dev/null || true
  [ -n "${KEDGE_DOCKER_WORK:-}" ] || rm -rf "$work"
}
trap finish EXIT
for _ in $(seq 60); do docker info >/dev/null 2>&1 && break; sleep 0.5; done

mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list.d/* /etc/apt/sources.list 2>/dev/null | head -n 1 || true)
[ -s "$work/base.tar" ] || mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$work/base.tar" "$mirror"
docker import - debian:bookworm-slim <"$work/base.tar" >/dev/null

# A context of its own: the classic builder runs every stage up to the last, and only the programs at hand are wanted here.
context=$work/context
rm -rf "$context" && mkdir -p "$context/build/release/bin" "$context/docker"
bin=${BIN:-build/release/bin}
cp "$bin/kedge" "$bin/kedged" "$bin/kedge-worker" "$context/build/release/bin/"
cp docker/collect.sh "$context/docker/"
sed '/^FROM ${BASE} AS compiled/,/^RUN .\/run.sh/d' docker/server-cpu.Dockerfile >"$context/Dockerfile"
docker build --network host --build-arg PROGRAMS=prebuilt -t kedge/server-cpu:test "$context" >"$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }

DOCKER=docker sh docker/sizes.sh kedge/server-cpu:test | tee "$work/sizes.txt"
compressed=$(awk '/compressed/ { print int($1) }' "$work/sizes.txt")
[ "$compressed" -le 80 ] || { echo "the image has $compressed MB compressed, at most 80 are allowed"; exit 1; }
[ "$(docker inspect -f '{{.Config.User}}' kedge/server-cpu:test)" = 10001:10001 ]
[ "$(docker inspect -f '{{.Config.StopSignal}}' kedge/server-cpu:test)" = SIGTERM ]

begin=$(date +%s%N)
docker run -d --name server --network host --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
  -e KEDGE_LISTEN=127.0.0.1:5399 kedge/server-cpu:test >/dev/null
until docker exec server /kedge/kedge health 2>/dev/null; do
  sleep 0.05
  [ $(($(date +%s%N) - begin)) -lt 60000000000 ] || { docker logs server; exit 1; }
done
echo "healthy $(((($(date +%s%N) - begin)) / 1000000)) ms after docker run"
docker logs server 2>&1 | grep -q KEDGE_TOKEN=
pin=$(docker logs server 2>&1 | sed -n 's/.*KEDGE_PIN=//p') token=$(docker logs server 2>&1 | sed -n 's/.*KEDGE_TOKEN=//p')
docker run --rm --network host --read-only --cap-drop ALL -v "$PWD/examples:/examples:ro" -e KEDGE_URL=https://127.0.0.1:5399 \
  -e KEDGE_PIN="$pin" -e KEDGE_TOKEN="$token" -e KEDGE_STATE_DIR=/tmp/state --tmpfs /tmp --entrypoint /kedge/kedge kedge/server-cpu:test run /examples/iris.json

# kedge up --provider docker goes the same way.
export KEDGE_STATE_DIR=$work/state KEDGE_DOCKER_NETWORK=host KEDGE_IMAGE=kedge/server-cpu:test
"$bin/kedge" up --provider docker
"$bin/kedge" run examples/iris.json >/dev/null
"$bin/kedge" down
[ -z "$(docker ps -aq --filter label=kedge)" ]
docker stop -t 20 server >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' server)" = 0 ]
echo "the CPU image works"
