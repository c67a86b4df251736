#!/bin/sh
# pack.sh BIN OUT [--without-cuda]: kedge-gpu-check of BIN as one folder, OUT/kedge-gpu-check, and as one archive beside it, to be carried to a
# machine with a GPU: the program, the CUDA backends that lie beside it and the shared objects that they load, but for glibc (2.36 or newer) and the
# driver. --without-cuda leaves out CUDA's own libraries (several hundred MB), for a machine that has them in /usr/local/cuda/lib64.
set -eu
bin=${1:?usage: pack.sh BIN OUT [--without-cuda]} out=${2:?usage: pack.sh BIN OUT [--without-cuda]} cuda=${3:-}
[ -x "$bin/kedge-gpu-check" ] || { echo "pack.sh: no program $bin/kedge-gpu-check" >&2; exit 64; }
files=kedge-gpu-check
for plugin in libkedge_cuda.so libkedge_cuda12.so; do [ ! -f "$bin/$plugin" ] || files="$files $plugin"; done
[ "$files" != kedge-gpu-check ] || { echo "pack.sh: $bin has no CUDA backend, such as libkedge_cuda.so: it was built without nvcc" >&2; exit 1; }
folder=$out/kedge-gpu-check
rm -rf "$folder" && mkdir -p "$folder/bin" "$folder/lib"
for file in $files; do strip --strip-unneeded -o "$folder/bin/$file" "$bin/$file"; done
chmod 755 "$folder/bin/kedge-gpu-check"
toolkit=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc) && toolkit=${toolkit%/bin/nvcc}
loaded=$(cd "$bin" && for file in $files; do LD_LIBRARY_PATH="$toolkit/lib64:$PWD/../../cuda12/toolkit/lib64" ldd "./$file"; done)
if missing=$(echo "$loaded" | grep 'not found'); then echo "pack.sh:$missing" >&2; exit 1; fi
echo "$loaded" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u | while read -r library; do
  case $(basename "$library") in
    libc.so.*|libm.so.*|libdl.so.*|librt.so.*|libpthread.so.*|libcuda.so.*) continue;;
    libcu*|libnv*) [ "$cuda" != --without-cuda ] || continue;;
  esac
  cp -L "$library" "$folder/lib/"
done
cat > "$folder/run" <<'END'
#!/bin/sh
# Runs kedge-gpu-check with the libraries beside it; --help says what it takes.
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH="$here/lib:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/bin/kedge-gpu-check" "$@"
END
chmod 755 "$folder/run"
if command -v zstd >/dev/null; then archive=$folder.tar.zst; tar -C "$out" -cf - kedge-gpu-check | zstd -q -T0 -f -o "$archive"
else archive=$folder.tar.gz; tar -C "$out" -czf "$archive" kedge-gpu-check; fi
echo "$archive"
