#!/bin/sh
# collect.sh PROGRAMS IMAGE [ARROW]: lays out the root of an image: the programs, what they load by ldd, certificates, a user, an empty data folder.
# ARROW: what CMake installs of the component arrow, or an empty folder.
set -eu
programs=$1 image=$2 arrow=${3:-}
mkdir -p "$image/kedge" "$image/etc/ssl/certs" "$image/data" "$image/tmp" "$image/lib64"
for file in "$programs"/*; do
  strip -o "$image/kedge/$(basename "$file")" "$file"
done
# Beside the programs, where the reader finds its libraries.
if [ -d "$arrow/bin" ]; then
  cp "$arrow"/bin/kedge-arrow "$arrow"/lib*/kedge/*.so.* "$image/kedge/"
  mkdir -p "$image/usr/share/doc" && cp -r "$arrow/share/doc/kedge-arrow" "$image/usr/share/doc/"
fi
# Under the path by which the loader looks for them. The driver's library is the host's.
for file in "$image"/kedge/*; do ldd "$file"; done | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p' |
  grep -v -e libcuda.so -e "^$image/" | sort -u | while read -r library; do
  mkdir -p "$image$(dirname "$library")"
  cp -L "$library" "$image$library"
done
# Name resolution loads these by name.
for library in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2; do
  found=$(find /lib /usr/lib -name "$library" | head -n 1)
  [ -z "$found" ] || { mkdir -p "$image$(dirname "$found")" && cp -L "$found" "$image$found"; }
done
cp -L /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
echo 'kedge:x:10001:10001:Kedge:/data:/nonexistent' >"$image/etc/passwd"
echo 'kedge:x:10001:' >"$image/etc/group"
echo 'hosts: files dns' >"$image/etc/nsswitch.conf"
chmod 0700 "$image/data"
chown -R 10001:10001 "$image/data"
chmod 1777 "$image/tmp"
find "$image" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-1767225600}" {} +
