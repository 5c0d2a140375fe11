"""What is compiled for lines of code says what the expressions say, whatever the text."""

import random

import pytest
from builders import always

from ctxrank.indexer.text.definitions import defined_names
from ctxrank.indexer.text.expressions import expression
from ctxrank.indexer.text.passages import best_code_cut, openings_in_python, split_passages
from ctxrank.indexer.text.spans import Source, Span
from ctxrank.indexer.text.tables import compiled

_WORDS = "def |class |async |    |(|)|:|[|]|=|==|x|Foo|MAX_A|#| |@|else|elif|except|finally|catch|{|}|,|->|//|/*|--"
_PIECES = (
    *_WORDS.split("|"),
    *(
        "\t",
        "\t\t",
        "\n",
        "\n",
        "\n\n",
        "\r",
        "\x0b",
        "\x1f",
        "\0",
        "\\",
        "'",
        '"',
        "'''",
        '"""',
        "template",
        "many words ",
    ),
    *("a" * 101, "b" * 100, " " * 41, " " * 81, f":{'t' * 200}=", f":{'t' * 201}="),
)


def _texts(seeds: range) -> list[str]:
    chances = map(random.Random, seeds)
    return ["".join(chance.choices(_PIECES, k=chance.choice((5, 40, 400)))) for chance in chances]


@pytest.mark.skipif(compiled("_code") is None, reason="this installation was made without a C compiler")
def test_the_compiled_twins_find_what_the_expressions_find() -> None:
    code = compiled("_code")
    assert code is not None
    for text in ["", "def", *_texts(range(300))]:
        assert code.python_openings(text) == list(openings_in_python(f"\n{text}"))
        assert code.python_names(text) == ["".join(one) for one in expression("python_names").findall(f"\n{text}")]
        for start in range(0, len(text) - 700, 211):
            place = (start, start + 600, start + 1800, min(start + 1900, len(text)))
            assert code.code_cut(text, *place) == best_code_cut(text, *place)


def test_an_installation_without_them_cuts_and_names_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"def load(path):\n{text}" for text in _texts(range(300, 340))]
    both = [(split_passages(text, "a.py"), defined_names(text, "a.py")) for text in texts]
    kept = [str(Source("a.py", f"{text}ß€\n").fingerprint(Span(1, 9))) for text in texts]
    for module in ("definitions", "passages", "spans"):
        monkeypatch.setattr(f"ctxrank.indexer.text.{module}.compiled", always(None))
    assert [(split_passages(text, "a.py"), defined_names(text, "a.py")) for text in texts] == both
    assert [str(Source("a.py", f"{text}ß€\n").fingerprint(Span(1, 9))) for text in texts] == kept


@pytest.mark.skipif(compiled("_code") is None, reason="this installation was made without a C compiler")
def test_a_text_beyond_ascii_or_a_place_beyond_it_is_refused() -> None:
    code = compiled("_code")
    assert code is not None
    with pytest.raises(ValueError, match="ASCII"):
        code.python_names("é = 1")
    for place in ((-1, 99, 99, 99), (0, 10, 99, 99), (0, 99, 99, 501), (0, 400, 99, 300)):
        with pytest.raises(ValueError, match="in the text"):
            code.code_cut("x" * 500, *place)
