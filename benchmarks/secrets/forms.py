"""Count what the redaction finds of each form that a secret has: python benchmarks/secrets/forms.py [--values N]

The forms and how their values are made are those of tests/secret_forms.py. A value counts if it stands nowhere in the
redacted text; of one that holds a name or a host, if the last twelve characters do not.
"""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tests"))

from secret_forms import FORMS

from ctxrank.indexer.redaction.engine import redact

_TARGET = 0.95
_TAIL = 12


def main() -> None:
    """Print a row for each form, the least ones of each group first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--values", type=int, default=1000)
    options = parser.parse_args()
    rows: list[tuple[str, float, str]] = []
    for form in FORMS:
        gone = 0
        for number in range(options.values):
            text, value = form.make(f"benchmark {number}")
            clean = redact(text).text
            gone += value not in clean and value[-_TAIL:] not in clean
        rows.append((form.group, gone / options.values, form.name))
    print(f"Shares of {options.values} values that go, by benchmarks/secrets/forms.py.\n")
    print("| group | forms | least | mean | below the target |\n|---|---|---|---|---|")
    for group in dict.fromkeys(form.group for form in FORMS):
        shares = [share for one, share, _ in rows if one == group]
        below = sum(share < _TARGET for share in shares)
        print(f"| {group} | {len(shares)} | {min(shares):.3f} | {sum(shares) / len(shares):.4f} | {below} |")
    print("\n| group | form | gone |\n|---|---|---|")
    for group, share, name in sorted(rows):
        print(f"| {group} | `{name.replace('|', chr(92) + '|')}` | {share:.3f} |")


if __name__ == "__main__":
    main()
