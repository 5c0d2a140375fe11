#!/bin/sh
# A wheel in a root folder that has a Python, a shell and the libraries of both, and nothing else: no compiler
# and no network. Installs it from wheels alone, and prints a block.
#
#     sh tests/bare_root.sh WHEEL PYTHON       needs root on Linux, and an index for the wheels of the dependencies
#
# Exit codes: 0 a block was printed, 99 this machine lets nobody make such a root, else something failed.
set -eu
wheel=$(realpath "$1") python=$(realpath "$2")
unshare --net --mount true 2>/dev/null || exit 99
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mkdir -p "$root/wheels" "$root/tmp" "$root/dev" "$root/bin" "$root$prefix/bin" "$root$prefix/lib" "$root/shop" "$root/home"
"$python" -m pip download -q --only-binary :all: -d "$root/wheels" "$wheel"
mknod -m 666 "$root/dev/null" c 1 3
cp -L "$python" "$root$prefix/bin/python3"
library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
(cd / && find "${library#/}" \( -name test -o -name site-packages -o -name __pycache__ -o -name 'config-*' \) -prune -o -type f -print \
  | tar -cf - -T - | tar -xf - -C "$root")
cp -L /bin/sh "$root/bin/sh"
find "$root$prefix" "$root/bin" -type f \( -perm -100 -o -name '*.so' \) -exec ldd {} + 2>/dev/null \
  | sed -n 's/.*=> \(\/[^ ]*\) (.*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (0x.*/\1/p' | sort -u >"$root/tmp/libraries"
ldconfig -p | grep -oE '/[^ ]*lib(stdc\+\+|gcc_s|pthread|dl|rt|util|m|c)\.so\.[0-9]+$' | sort -u >>"$root/tmp/libraries"
while read -r file; do
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
done <"$root/tmp/libraries"

cat >"$root/try.sh" <<'END'
set -eu
cd /shop
"$1" -m venv /tmp/venv
/tmp/venv/bin/python -m pip install -q --no-index --find-links /wheels ctxrank
export PATH=/tmp/venv/bin HOME=/home
ctxrank init
ctxrank save "A read that becomes a write fails at once in WAL mode: BEGIN IMMEDIATE." --session shop --priority critical
ctxrank assemble --session shop --agent developer --task "workers stop with a locked database in WAL mode"
END
env -i PATH=/usr/sbin:/usr/bin:/bin unshare --net --mount chroot "$root" /bin/sh /try.sh "$prefix/bin/python3"
