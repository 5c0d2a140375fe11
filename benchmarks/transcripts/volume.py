"""How long a gigabyte of transcripts takes to import, and how much memory.

python benchmarks/transcripts/volume.py --megabytes 1024
"""

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

import made_up

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.indexer import create_store

_OUTPUT_BYTES = 40_000  # what a tool prints on average, of which a failure has the end


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1024)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as folder:
        real = str(Path(root).resolve())
        size = _write(Path(folder), real, given.megabytes * 1_000_000)
        with create_store(real) as store:
            call = Call(db=store.location.primary)
        began, cpu = time.monotonic(), time.process_time()
        counts = ask(call, "import transcripts", {"folder": folder}).payload
        took = {"seconds": round(time.monotonic() - began, 1), "cpu_seconds": round(time.process_time() - cpu, 1)}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"megabytes": size // 1_000_000, **took, "peak_mb": round(peak), **counts}, indent=1))


def _write(folder: Path, root: str, size: int) -> int:
    """Sessions with long outputs, and one line of thirty megabytes."""
    chance = random.Random(1)
    made_up.write(folder, root, 50, 1)
    words = [f"word{number}" for number in range(5000)]
    written = 0
    paths = sorted(folder.glob("*.jsonl"))
    while written < size:
        path = paths[written // 10_000_000 % len(paths)]
        lines = path.read_text(encoding="utf-8").split("\n")
        line = json.loads(lines[1])
        with path.open("a", encoding="utf-8") as file:
            for number in range(250):
                text = " ".join(chance.choices(words, k=_OUTPUT_BYTES // 8))
                id_ = f"toolu_{written}_{number}"
                use = {"type": "tool_use", "id": id_, "name": "Read", "input": {"file_path": f"{root}/a.py"}}
                result = {"type": "tool_result", "tool_use_id": id_, "content": text}
                for kind, part in (("assistant", use), ("user", result)):
                    file.write(json.dumps({**line, "type": kind, "message": {"role": kind, "content": [part]}}) + "\n")
        written = sum(one.stat().st_size for one in paths)
    return written


if __name__ == "__main__":
    main()
