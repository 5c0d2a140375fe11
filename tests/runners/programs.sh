#!/bin/sh
# The five agent runners from the npm registry, in the versions that the tests are about, into the folder that is given.
# Never fails: where they cannot be had, the tests say that they were skipped, and why.
set -u
folder=$1
if ! command -v npm >/dev/null 2>&1; then
  echo "no npm is here: the runners' tests are skipped" >&2
elif ! (cd "$folder/node_modules/.bin" 2>/dev/null && [ -x claude ] && [ -x codex ] && [ -x gemini ] && [ -x copilot ] \
  && [ -x opencode ]); then
  npm install --silent --no-audit --no-fund --no-save --prefix "$folder" \
    @anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 @github/copilot@1.0.102 \
    opencode-ai@1.18.33 >&2 </dev/null \
    || echo "the runners cannot be had from the npm registry: their tests are skipped" >&2
fi
exit 0
