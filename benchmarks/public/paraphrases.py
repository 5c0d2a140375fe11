"""How many paraphrases of the manuals have no stem in common with the title and the summary of what they ask for.

    PYTHONPATH=benchmarks python -m public.paraphrases --data DATA

Stems are those of FTS5's `porter unicode61`; stop words are left out. The title is the first heading of the page, the
summary its first paragraph.
"""

import argparse
import glob
import json
import os
import re
import tempfile

import apsw
from public.trees import repository_of, write_tree
from public.typed import read_texts

from ctxrank.ranking.retrieval.query import STOPWORDS

_TITLE = re.compile(r"^(?:#+ +(.+)|(.+)\n[=~*^-]{3,} *$)", re.M)
_NO_PROSE = re.compile(r"\s*(?:$|[.:<|`#>=*^~-]{2}|[#<|>]|:\w)|    ")


def main() -> None:
    """Report on the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    report(parser.parse_args().data)


def report(data: str) -> None:
    """Print the share of each set and tree, and the stems of those that have some in common."""
    for path in sorted(glob.glob(os.path.join(data, "typed", "*seen.json"))):
        name = os.path.basename(path).removesuffix(".json")
        with open(path, encoding="utf-8") as file:
            trees = json.load(file)
        for tree, about in trees.items():
            asked = [(text, paths[0]) for kind, text, paths in about["questions"] if kind == "paraphrase"]
            if asked:
                shared = [(text, stems) for text, stems in _shared(data, about, asked) if stems]
                print(f"{name}: {tree}: {len(asked) - len(shared)} of {len(asked)} share no stem")
                for text, stems in shared:
                    print(f"    {text}: {' '.join(sorted(stems))}")


def _shared(data: str, about: dict[str, str], asked: list[tuple[str, str]]) -> list[tuple[str, set[str]]]:
    """Each question with the stems that it shares with its page."""
    with tempfile.TemporaryDirectory() as folder:
        write_tree(repository_of(data, about["repository"]), about["commit"], folder, about["below"])
        texts = read_texts(folder)
    return [(text, _stems(text) & _stems(_head(texts[path]))) for text, path in asked]


def _head(text: str) -> str:
    """The title and the first paragraph after it."""
    found = _TITLE.search(text)
    if not found:
        return text.partition("\n\n")[0]
    paragraphs = (one for one in re.split(r"\n\s*\n", text[found.end() :]) if not _NO_PROSE.match(one.lstrip("\n")))
    return f"{found[1] or found[2]}\n{next(paragraphs, '')}"


def _stems(text: str) -> set[str]:
    words = " ".join(word for word in re.findall(r"\w+", text.lower()) if word not in STOPWORDS)
    tokenizer = apsw.Connection("").fts5_tokenizer("porter", ["unicode61"])
    found = tokenizer(words.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    return {token if isinstance(token, str) else str(token[0]) for token in found}


if __name__ == "__main__":
    main()
