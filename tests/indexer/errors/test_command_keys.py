"""What a command that may fail is known by: the same words in the same folder of a project, however they are quoted."""

import os
from pathlib import Path

from tables import each_row

from ctxrank.indexer.errors.command_keys import command_key


@each_row(
    "line, other, is_same",
    [
        ("make test", "make  test\n", True),
        ("pytest -k 'a b'", 'pytest -k "a b"', True),
        ("pytest -k a\\ b", 'pytest -k "a b"', True),
        ("""echo 'it'"'"'s'""", '''echo "it's"''', True),
        ("make test", "make tests", False),
        ("make test", "maketest", False),
    ],
)
def test_a_line_is_known_by_its_words(line: str, other: str, is_same: bool) -> None:
    assert (command_key(line, "/a", "/a", "p") == command_key(other, "/a", "/a", "p")) is is_same


def test_a_folder_is_known_from_the_root_on_whichever_link_leads_there(tmp_path: Path) -> None:
    (tmp_path / "tree" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("tree")
    root, link = str(tmp_path / "tree"), str(tmp_path / "link")
    key, folder = command_key("make", os.path.join(link, "src"), root, "p")
    assert folder == "src" and command_key("make", os.path.join(root, "src"), link, "p") == (key, "src")
    assert command_key("make", root, link, "p")[1] == "."
    assert key not in (command_key("make", root, root, "p")[0], command_key("make", f"{root}/src", root, "q")[0])
