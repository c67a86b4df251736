#!/bin/sh
# The Debian package of built programs: build_deb.sh BIN [OUT], and kedge-arrow's where BIN has it. Version: that of CMakeLists.txt, with KEDGE_DEB_REVISION behind it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in kedged kedge kedge-worker kedge-gpu-check; do
  [ -x "${1:-}/$program" ] || { echo "build_deb.sh: no program ${1:-BIN}/$program; usage: build_deb.sh BIN [OUT], after ./run.sh build as packaging/build_deb.sh build/release/bin" >&2; exit 64; }
done
mkdir -p "${2:-.}"
bin=$(cd "$1" && pwd) out=$(cd "${2:-.}" && pwd)
version=$(sed -n 's/^project(kedge VERSION \([0-9.]*\).*/\1/p' "$here/../CMakeLists.txt")${KEDGE_DEB_REVISION:-}
arch=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
umask 022

mkdir -p "$root/tree/DEBIAN" "$root/tree/usr/bin" "$root/tree/lib/systemd/system" "$root/tree/etc/kedge" "$root/tree/usr/share/doc/kedge" "$root/debian"
for program in kedged kedge kedge-worker kedge-gpu-check; do
  strip --strip-unneeded --remove-section=.comment --remove-section=.note -o "$root/tree/usr/bin/$program" "$bin/$program"
  chmod 755 "$root/tree/usr/bin/$program"
done
mkdir -p "$root/tree/usr/share/man/man1" "$root/tree/usr/share/man/man8" "$root/tree/usr/share/bash-completion/completions" \
  "$root/tree/usr/share/zsh/vendor-completions" "$root/tree/usr/share/fish/vendor_completions.d"
"$bin/kedge" help --man | gzip -9n > "$root/tree/usr/share/man/man1/kedge.1.gz"
"$bin/kedged" --man | gzip -9n > "$root/tree/usr/share/man/man8/kedged.8.gz"
"$bin/kedge" completion bash > "$root/tree/usr/share/bash-completion/completions/kedge"
"$bin/kedge" completion zsh > "$root/tree/usr/share/zsh/vendor-completions/_kedge"
"$bin/kedge" completion fish > "$root/tree/usr/share/fish/vendor_completions.d/kedge.fish"
install -m 644 "$here/debian/kedged.service" "$root/tree/lib/systemd/system/"
install -m 644 "$here/debian/kedged.toml" "$root/tree/etc/kedge/"
cat > "$root/tree/usr/share/doc/kedge/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kedge

Files: *
Copyright: 2026 the Kedge authors
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.

Files: server/ui/preact.js
Copyright: 2015-present Jason Miller (Preact), 2018 Google Inc. (htm)
License: MIT and Apache-2.0
 Both texts are in preact.license.txt beside this file.
END
install -m 644 "$here/../server/ui/preact.license.txt" "$root/tree/usr/share/doc/kedge/"
# The last change of the sources, so that the same sources make the same package.
date=$(git -C "$here" log -1 --format=%aD 2>/dev/null || date -R)
printf 'kedge (%s) unstable; urgency=medium\n\n  * The programs of this version.\n\n -- Kedge maintainers <maintainers@kedge.invalid>  %s\n' "$version" "$date" |
  gzip -9n > "$root/tree/usr/share/doc/kedge/changelog.gz"

printf 'Source: kedge\n\nPackage: kedge\nArchitecture: any\n' > "$root/debian/control"
depends=$(cd "$root" && dpkg-shlibdeps -O --ignore-missing-info tree/usr/bin/* 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
size=$(du -sk --exclude=DEBIAN "$root/tree" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$depends/" "$here/debian/control" > "$root/tree/DEBIAN/control"
echo /etc/kedge/kedged.toml > "$root/tree/DEBIAN/conffiles"
install -m 755 "$here/debian/postinst" "$here/debian/prerm" "$here/debian/postrm" "$root/tree/DEBIAN/"
(cd "$root/tree" && find usr lib -type f -exec md5sum {} + > DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zxz -z1 --build "$root/tree" "$out/kedge_${version}_$arch.deb" >&2

# kedge-arrow with Arrow's libraries, which are larger than all the rest: a package that one need not install.
if [ -x "$bin/kedge-arrow" ] && [ -f "$bin/../cmake_install.cmake" ]; then
  tree=$root/arrow doc=$root/arrow/usr/share/doc/kedge-arrow
  mkdir -p "$tree/DEBIAN" "$doc"
  cmake --install "$bin/.." --component arrow --prefix "$tree/usr" --strip >&2
  {
    sed '/^Files: server/,$d' "$root/tree/usr/share/doc/kedge/copyright"
    printf 'Files: usr/lib/*\nCopyright: 2016-present The Apache Software Foundation and others, as NOTICE.txt and LICENSE.txt beside this file say\nLicense: Apache-2.0\n'
  } > "$doc/copyright"
  sed 's/^kedge /kedge-arrow /' <<END | gzip -9n > "$doc/changelog.gz"
$(zcat "$root/tree/usr/share/doc/kedge/changelog.gz")
END
  find "$tree/usr" -type d -exec chmod 755 {} + && find "$tree/usr" -type f -exec chmod 644 {} + && chmod 755 "$tree/usr/bin/kedge-arrow"
  depends=$(cd "$root" && dpkg-shlibdeps -O --ignore-missing-info -larrow/usr/lib/kedge arrow/usr/bin/kedge-arrow arrow/usr/lib/kedge/* 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
  size=$(du -sk --exclude=DEBIAN "$tree" | cut -f1)
  sed -e "s/@VERSION@/$version/g" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$depends/" "$here/debian/control.arrow" > "$tree/DEBIAN/control"
  (cd "$tree" && find usr -type f -exec md5sum {} + > DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz -z1 --build "$tree" "$out/kedge-arrow_${version}_$arch.deb" >&2
fi
echo "$out/kedge_${version}_$arch.deb"
