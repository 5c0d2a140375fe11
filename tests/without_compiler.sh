#!/bin/sh
# `make demo` and `make test` on a bare clone, with no C compiler on the path: what is optional may be missing, and the
# first line that a newcomer sees is the demo's.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"

# Every command of the path but the compilers; the first of a name counts.
(
  IFS=:
  for home in $PATH; do
    for command in "$home"/*; do
      case ${command##*/} in
        cc | cc-* | *-cc | c++* | c89* | c99* | *gcc* | *g++* | *clang* | tcc | icc | icx) ;;
        *) [ -e "$folder/bin/${command##*/}" ] || ln -s "$command" "$folder/bin" 2>/dev/null || : ;;
      esac
    done
  done
)
git clone -q "$root" "$folder/ctxrank"
cd "$folder/ctxrank"
unset CC CXX
PATH=$folder/bin
make -s demo >"$folder/demo.txt" 2>&1 || { cat "$folder/demo.txt"; exit 1; }
first=$(head -n 1 "$folder/demo.txt")
case $first in
  '1. '*) echo "make demo: $first" ;;
  *)
    echo "make demo begins with a line that is not its own: $first"
    exit 1
    ;;
esac
make -s test
compiled=$(find .venv-demo indexer -name '*.abi3*.so' -path '*indexer*')
[ -z "$compiled" ] || { echo "there was a compiler: $compiled"; exit 1; }
