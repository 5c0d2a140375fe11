#!/bin/sh
# Builds the compiled modules with the address and undefined-behaviour sanitizers, into an environment of their own, and
# runs over them their tests and tests/fuzz/compiled.py for SECONDS (60). Where the sanitizers are missing it says so.
set -eu
cd "$(dirname "$0")/../.."
folder="$PWD/build/sanitized"
CC="${CC:-gcc}"
library="$("$CC" -print-file-name=libasan.so 2>/dev/null)" || library=""
case "$library" in
/*) ;;
*) echo "skipped: no C compiler with libasan.so here"; exit 0 ;;
esac
test -x "$folder/bin/python" || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip -q install --upgrade 'pip>=25.1'
watched="-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"
CC="$CC" CFLAGS="$watched" LDFLAGS="$watched" "$folder/bin/python" -m pip -q install --group test .
# The interpreter is not watched, so the sanitizer is loaded before it; what it keeps until its end is no leak of ours.
run() {
  LD_PRELOAD="$library" ASAN_OPTIONS=detect_leaks=0 PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$@"
}
run tests/fuzz/compiled.py --seconds "${SECONDS:-60}" --seed "${SEED:-1}"
run -m pytest -q -p no:randomly -p no:cacheprovider -m "not slow" tests/indexer/fulltext/test_postings.py \
  tests/indexer/fulltext/test_batch_counts.py tests/indexer/fulltext/test_forward.py \
  tests/ranking/formulas/test_bm25.py tests/indexer/text/test_word_finder.py tests/indexer/text/test_tokens.py \
  tests/indexer/text/test_identifiers.py tests/indexer/text/test_compiled_code.py tests/ranking/retrieval/test_snippets.py
