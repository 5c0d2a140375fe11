#!/bin/sh
# Every table and picture of the benchmarks, from one folder of data; hours on two cores.
#
#     sh benchmarks/figures.sh DATA                what stands in benchmarks/README.md afterwards
#     sh benchmarks/figures.sh DATA --quick        small sizes into a temporary folder: shows that all of it runs
#
# DATA is what benchmarks/README.md says. PYTHON is the environment with the built wheel; the peers get their own.
set -eu

data=$1
python=${PYTHON:-.venv-demo/bin/python}
peers=.venv-peers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

test -x "$peers/bin/python" || "$python" -m venv "$peers"
"$peers/bin/python" -m pip -q install apsw tantivy matplotlib

case ${2-} in
--quick)
  "$python" benchmarks/run.py --quick --data "$data" --out "$work" --only whole_process in_process indexing_scale
  "$python" benchmarks/errors/run.py --data "$data/errors" --part dev --ours --no-latency --seeds 1 --out "$work"
  "$python" benchmarks/links/run_links.py --quick --out "$work"
  "$python" benchmarks/scale/run_scale.py --sizes 500 1000 --questions 5 --folder "$work/stores" --peers "$peers/bin/python" --out "$work"
  ls "$work"
  ;;
*)
  "$python" benchmarks/run.py --data "$data"
  for part in dev held-out; do "$python" benchmarks/errors/run.py --data "$data/errors" --part "$part"; done
  "$python" benchmarks/secrets/measure.py --data "$data" --hostile
  "$python" benchmarks/links/run_links.py
  "$python" benchmarks/scale/run_scale.py --folder "$work/stores" --peers "$peers/bin/python"
  "$python" benchmarks/report.py
  ;;
esac
