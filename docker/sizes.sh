#!/bin/sh
# sizes.sh IMAGE: what an image holds, part by part, and its compressed size (COMPRESS=no: not that). DOCKER names the command.
set -eu
docker=${DOCKER:-docker}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
id=$($docker create "$1")
$docker export "$id" >"$folder/root.tar"
$docker rm -v "$id" >/dev/null
tar -tvf "$folder/root.tar" | awk '$3 > 0 { n = $6; sub(/.*\//, "", n); printf "%8.2f MB  %s\n", $3 / 1e6, n }' | sort -rn |
  awk '$1 >= 0.2 { print; next } { rest += $1; n++ } END { printf "%8.2f MB  %d smaller files\n", rest, n }'
printf '%8.2f MB  in all\n' "$(($(tar -xOf "$folder/root.tar" | wc -c) / 10000))e-2"
[ "${COMPRESS:-yes}" = no ] || printf '%8.2f MB  compressed (gzip)\n' "$(($(gzip -6 <"$folder/root.tar" | wc -c) / 10000))e-2"
