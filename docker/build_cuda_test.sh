#!/usr/bin/env bash
# Builds the CUDA image from BIN (build/release/bin; with libkedge_cuda.so) with an engine of its own, on a base with the CUDA libraries of this
# machine, since no registry is asked for NVIDIA's. Without a GPU it shows that the image starts, says why there is no device, and works
# on the CPU. Exits with 77, saying so, where no engine can be started. CUDA: the toolkit, /usr/local/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."
. docker/engine.sh
bin=${BIN:-build/release/bin} cuda=${CUDA:-/usr/local/cuda} image=kedge/server:test
work=${KEDGE_DOCKER_WORK:-$(mktemp -d /tmp/kedge-docker-XXXXXX)}
finish() {
  stop_engine
  [ -n "${KEDGE_DOCKER_WORK:-}" ] || rm -rf "$work"
}
trap finish EXIT
[ -f "$bin/libkedge_cuda.so" ] || skip "$bin has no CUDA backend"

build_base() {   # Debian and the CUDA libraries that the backend loads, where the toolkit has them
  local context=$work/cuda library
  rm -rf "$context" && mkdir -p "$context/lib64"
  LD_LIBRARY_PATH=$cuda/lib64 ldd "$bin/libkedge_cuda.so" | sed -nE "s|.*=> ($cuda/[^ ]*).*|\1|p" | while read -r library; do
    cp -L "$library" "$context/lib64/$(basename "$library")"
  done
  ls "$context/lib64"
  printf 'FROM debian:bookworm-slim\nCOPY lib64 /usr/local/cuda/lib64\n' >"$context/Dockerfile"
  docker build -q -t kedge/cuda-base:test "$context" >/dev/null
  rm -rf "$context"
}

build_image() {
  local context=$work/context
  rm -rf "$context" && mkdir -p "$context/build/release/bin" "$context/docker"
  cp "$bin/kedge" "$bin/kedged" "$bin/kedge-worker" "$bin/libkedge_cuda.so" "$context/build/release/bin/"
  cp docker/collect.sh "$context/docker/"
  sed '/^FROM ${BASE} AS compiled/,/libkedge_cuda.so \/programs$/d' docker/server.Dockerfile >"$context/Dockerfile"
  docker build --network host --build-arg BASE=kedge/cuda-base:test --build-arg PROGRAMS=prebuilt -t $image "$context" >"$work/build.log" 2>&1 ||
    { tail -30 "$work/build.log"; exit 1; }
}

inside() { docker exec -e KEDGE_URL=https://127.0.0.1:5399 -e KEDGE_STATE_DIR=/tmp/state "$@"; }

start_engine "$work"
import_base
build_base
build_image
DOCKER=docker sh docker/sizes.sh $image | tee "$work/sizes-cuda.txt"
docker run -d --name server --network host --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
  -v "$PWD/examples:/examples:ro" -e KEDGE_LISTEN=127.0.0.1:5399 $image >/dev/null
for _ in $(seq 100); do docker exec server /kedge/kedge health 2>/dev/null && break; sleep 0.1; done
pin=$(docker logs server 2>&1 | sed -n 's/.*KEDGE_PIN=//p') token=$(docker logs server 2>&1 | sed -n 's/.*KEDGE_TOKEN=//p')
inside -e KEDGE_PIN="$pin" -e KEDGE_TOKEN="$token" server /kedge/kedge doctor || true   # fails where it finds no GPU
inside -e KEDGE_PIN="$pin" -e KEDGE_TOKEN="$token" server /kedge/kedge run /examples/iris.json
docker stop -t 20 server >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' server)" = 0 ]
echo "the CUDA image works on this machine"
