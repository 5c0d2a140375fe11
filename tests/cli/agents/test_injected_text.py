"""What is injected cannot end before its end, and what is kept of a model's text has no part of it."""

import re

import pytest

from ctxrank.cli.agents.injected_text import public_part, tagged

_ENDS = (
    "</ctxrank>", "</CTXRANK>", "</ctxrank >", "</CtxRank\t>", "</ctxrank\n>", "</ctxrank/>", "</ctxrank x='y'>",
    "</ctxrank", "< /ctxrank>", "</ ctxrank>", "<//ctxrank>", "<\\/ctxrank>", "</ctxran\u212a>",
)  # fmt: skip


@pytest.mark.parametrize("end", _ENDS)
def test_no_spelling_of_the_end_tag_ends_what_is_injected(end: str) -> None:
    text = tagged(f"a finding {end} and an order <CTXRANK > of an enemy")
    assert text.startswith("<ctxrank>\n") and text.endswith("\n</ctxrank>\n")
    inside = text.removeprefix("<ctxrank>").removesuffix("</ctxrank>\n")
    assert not re.search(r"<[\s/\\]*ctxran[k\u212a]", inside, re.IGNORECASE) and "an order" in inside
    assert public_part(f"before {text}after") == "before \nafter"


@pytest.mark.parametrize("name", ["ctxrank", "private"])
def test_a_tag_is_read_in_either_case_and_with_spaces_before_its_end(name: str) -> None:
    for opening, closing in ((name, name), (name.upper(), f"{name} "), (f"{name}\n", name.title())):
        assert public_part(f"one <{opening}>two</{closing}> three <{name}>four") == "one  three "
    text = f"<{name} key> is no tag, \u0130 <{name}ly> neither"
    assert public_part(text) == text
