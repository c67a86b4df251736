# A Docker engine of our own and a Debian base, for scripts to source. Needs root, Debian's docker.io and mmdebstrap, and a mirror.

skip() { echo "skipped: $*"; exit 77; }

# start_engine FOLDER: sets DOCKER_HOST; stop_engine ends it. Exits with 77, saying why, where no engine can be started.
start_engine() {
  local tool
  [ "$(id -u)" = 0 ] || skip "only root can start a Docker engine"
  for tool in dockerd docker mmdebstrap; do
    command -v $tool >/dev/null || skip "$tool is not installed (Debian's docker.io and mmdebstrap)"
  done
  engine_folder=$1
  mkdir -p "$engine_folder"
  export DOCKER_HOST=unix://$engine_folder/d.sock DOCKER_BUILDKIT=0
  echo '{}' >"$engine_folder/daemon.json"
  dockerd -H "$DOCKER_HOST" --data-root "$engine_folder/data" --exec-root "$engine_folder/exec" -p "$engine_folder/d.pid" \
    --config-file "$engine_folder/daemon.json" --storage-driver overlay2 --iptables=false --ip6tables=false --bridge=none \
    >"$engine_folder/dockerd.log" 2>&1 &
  engine=$!
  for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && return
    kill -0 $engine 2>/dev/null || break
    sleep 0.5
  done
  tail -n 3 "$engine_folder/dockerd.log"
  skip "the Docker engine does not start here"
}

stop_engine() {
  [ -n "${engine:-}" ] || return 0
  docker ps -aq | xargs -r docker rm -fv >/dev/null 2>&1 || true
  docker volume ls -q | xargs -r docker volume rm >/dev/null 2>&1 || true
  docker network prune -f >/dev/null 2>&1 || true   # a bridge would stay on this machine
  kill $engine 2>/dev/null && wait $engine 2>/dev/null || true
  umount "$engine_folder/exec/netns/default" 2>/dev/null || true
}

# import_base: debian:bookworm-slim, from the mirror that this machine uses, or KEDGE_DOCKER_BASE, the file that an earlier run has left.
import_base() {
  local mirror base=${KEDGE_DOCKER_BASE:-$engine_folder/base.tar}
  mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list.d/*.{sources,list} /etc/apt/sources.list 2>/dev/null |
    head -n 1 || true)
  [ -s "$base" ] || { mkdir -p "$(dirname "$base")" &&
    mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$base.part.tar" "$mirror" >/dev/null && mv "$base.part.tar" "$base"; } ||
    { rm -f "$base.part.tar"; skip "no Debian can be had from ${mirror:-anywhere}"; }
  docker import - debian:bookworm-slim <"$base" >/dev/null
}
