#!/bin/sh
# The two agent runners from the npm registry, in the versions that the tests are about, into the folder that is given.
# Never fails: where they cannot be had, the tests say that they were skipped, and why.
set -u
folder=$1
if ! command -v npm >/dev/null 2>&1; then
  echo "no npm is here: the runners' tests are skipped" >&2
elif [ ! -x "$folder/node_modules/.bin/claude" ] || [ ! -x "$folder/node_modules/.bin/codex" ]; then
  npm install --silent --no-audit --no-fund --no-save --prefix "$folder" \
    @anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 >&2 </dev/null \
    || echo "the runners cannot be had from the npm registry: their tests are skipped" >&2
fi
exit 0
