#!/bin/sh
# What ctxrank does, on the shipped fixtures, in a folder of its own that is removed afterwards.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
run() { printf '\n$ ctxrank'; for word in "$@"; do case $word in *' '*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done; printf '\n'; ctxrank "$@"; }

say "1. A store with the findings of two sessions of a small team (fixtures/store)"
python "$here/fixtures/load.py" "$folder"
cd "$folder"
run status

say "2. A developer asks: have we seen this before?"
run search -n 3 why is the database locked

say "3. An orchestrator asks: what should this agent read, in 900 tokens?"
run assemble --session shop-2026-10 --group AUTH --agent developer --budget 900 \
  --task "customers are logged out when two requests refresh the token at once"

say "4. Files change; a second run reads only what changed"
run index -q artifacts
printf '\n## Update\n\nThe grace window is now fifteen seconds for mobile clients.\n' >> artifacts/shop-2026-10/auth/refresh-decision.md
mv artifacts/shop-2026-11/conventions.md artifacts/shop-2026-11/team-conventions.md
run index artifacts
run search -n 1 grace window mobile fifteen seconds
