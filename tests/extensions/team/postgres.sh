#!/bin/sh
# Where PostgreSQL's programs are: the machine's own, else Debian's where they can be installed. Never fails: where there
# is none, the tests say that they were skipped, and why.
set -u
find_bin() {
  for folder in "${CTXRANK_PG_BIN:-}" /usr/lib/postgresql/*/bin; do
    [ -n "$folder" ] && [ -x "$folder/initdb" ] && found=$folder
  done
  [ -n "${found:-}" ] && echo "$found"
}
if ! find_bin >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Debian's postgresql" >&2
    # No cluster of the system's own is made or started.
    mkdir -p /etc/postgresql-common && { [ -e /etc/postgresql-common/createcluster.conf ] \
      || echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf; }
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } \
      >&2 </dev/null || echo "postgresql could not be installed" >&2
  else
    echo "no PostgreSQL is here: 'apt-get install postgresql' as root, or set CTXRANK_PG_BIN" >&2
  fi
fi
find_bin || true
