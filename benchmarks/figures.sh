#!/bin/sh
# Every table and picture of the benchmarks, from one folder of data; some three hours on two cores, seven at most.
#
#     sh benchmarks/figures.sh DATA                what stands in README.md and benchmarks/README.md afterwards
#     sh benchmarks/figures.sh DATA --quick        small sizes into a temporary folder: shows that all of it runs
#
# DATA is what benchmarks/README.md says. PYTHON is the environment with the built wheel; the peers get their own. A step
# that misses a target, fails or takes longer than its time is named at the end, and the others go on.
set -u

data=$1
python=${PYTHON:-.venv-demo/bin/python}
peers=.venv-peers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
missed=

# step MINUTES NAME COMMAND...
step() {
  minutes=$1 name=$2
  shift 2
  echo "== $name (at most $minutes minutes)"
  timeout "${minutes}m" "$@" || missed="$missed $name"
}

# The long harness uses the tests' own modules beside the installed wheel.
torture() {
  step "$1" torture env PYTHONPATH=tests:fixtures:benchmarks:tests/torture \
    "$python" tests/torture/torture.py --work "$work" --length "$2" ${3-} ${4-} ${5-}
}

test -x "$peers/bin/python" || "$python" -m venv "$peers"
"$peers/bin/python" -m pip -q install apsw tantivy matplotlib || missed="$missed peers"

case ${2-} in
--quick)
  step 10 run "$python" benchmarks/run.py --quick --data "$data" --out "$work" \
    --only real_store whole_process commands crowd indexing indexing_scale rescan memory
  step 10 errors "$python" benchmarks/errors/run.py --data "$data/errors" --part dev --ours --no-latency --seeds 1 --out "$work"
  step 5 links "$python" benchmarks/links/run_links.py --quick --out "$work"
  step 10 scale "$python" benchmarks/scale/run_scale.py --sizes 500 1000 --questions 5 --folder "$work/stores" \
    --peers "$peers/bin/python" --out "$work"
  torture 5 1 cuts --suffix=-quick
  rm -f tests/torture/results/*-quick.json
  ls "$work"
  ;;
*)
  step 120 run "$python" benchmarks/run.py --data "$data"
  for part in dev held-out; do step 40 "errors-$part" "$python" benchmarks/errors/run.py --data "$data/errors" --part "$part"; done
  step 30 secrets "$python" benchmarks/secrets/measure.py --data "$data" --hostile
  step 20 links "$python" benchmarks/links/run_links.py
  step 90 scale "$python" benchmarks/scale/run_scale.py --folder "$work/stores" --peers "$peers/bin/python"
  torture 60 10
  step 1 report "$python" benchmarks/report.py
  ;;
esac
test -z "$missed" || { echo "missed:$missed"; exit 1; }
