#!/bin/sh
# A Chromium for the browser tests: the one on the machine, else Debian's where that can be installed. Never fails: where
# there is none, the tests say that they were skipped, and why.
set -u
for name in "${CTXRANK_CHROMIUM:-}" chromium chromium-browser google-chrome; do
  if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
    command -v "$name"
    exit 0
  fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing Debian's chromium" >&2
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >&2 </dev/null \
    || echo "chromium could not be installed" >&2
else
  echo "no Chromium is here: 'apt-get install chromium' as root, or set CTXRANK_CHROMIUM" >&2
fi
command -v chromium || true
