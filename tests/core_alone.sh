#!/bin/sh
# The core's whole suite in a clone without extensions: their folders, their tests and their names in pyproject.toml are
# deleted before anything is installed. A test that crosses into an extension is skipped, and says which one it needs.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone -q "$root" "$folder/ctxrank"
cd "$folder/ctxrank"
rm -rf extensions/*/ tests/extensions
sed -i.whole '/^ *"ctxrank\.extensions\./d' pyproject.toml
rm pyproject.toml.whole
make -s "${@:-test}"
