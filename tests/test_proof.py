"""The page of proof is what the command makes of the noted runs."""

import re

from proof import HOUSE, PAGE, ending, harnesses, noted, page


def test_the_page_is_made_of_the_noted_runs() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(noted())
    assert noted().keys() <= {one.name for one in harnesses()}


def test_each_harness_is_a_target_or_a_script() -> None:
    targets = re.findall(r"^([a-z-]+):", (HOUSE / "Makefile").read_text(encoding="utf-8"), re.M)
    for one in harnesses():
        program, word, *_ = one.command.split()
        assert word in targets if program == "make" else (HOUSE / word).exists()


def test_the_line_that_counts_is_the_last_one_with_its_word() -> None:
    printed = "1 passed\n==== 7 passed, 1 skipped in 3.02s ====\nmake: done\n"
    assert ending(printed, "passed", 0) == "7 passed, 1 skipped in 3.02s"
    assert ending(printed, "", 0) == "make: done"
    assert ending("", "passed", 2) == "**failed** (2): nothing counted"
