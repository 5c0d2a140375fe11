"""What of a shell's line is a command."""

import time

import pytest
from tables import each_row

from ctxrank.cli.agents.shell_line import is_looking, simple_commands

_LINES: tuple[tuple[str, str, list[str]], ...] = (
    ("cd web && time npm test 2>&1 | tail -20", "/p/web", ["npm test"]),
    ('git commit -m "fix; done"', "/p", ['git commit -m "fix; done"']),
    ("git commit -m 'a && b | c' && git push", "/p", ["git commit -m 'a && b | c'", "git push"]),
    ('sed -i "s|a|b|; s|c|d|" f.txt', "/p", ['sed -i "s|a|b|; s|c|d|" f.txt']),
    ("touch x -exec rm {} \\; && make", "/p", ["touch x -exec rm {} \\;", "make"]),
    ("make `git ls-files; ls` && make", "/p", ["make `git ls-files; ls`", "make"]),
    ('x=$(git rev-parse HEAD | cut -c1-8; ls) && make "$x"', "/p",
     ["x=$(git rev-parse HEAD | cut -c1-8; ls)", 'make "$x"']),
    ("(cd sub && make) && echo ok", "/p/sub", ["make"]),
    ('cd "my shop" && make', "/p/my shop", ["make"]),
    ("sudo apt-get install -y jq; jq . x", "/p", ["sudo apt-get install -y jq"]),
    ("sudo cat /x && sudo systemctl restart y", "/p", ["sudo systemctl restart y"]),
    ("echo x | sudo tee /etc/y", "/p", ["echo x | sudo tee /etc/y"]),
    ("timeout -k 5 30 make; nice -n 10 make -j2", "/p", ["make", "make -j2"]),
    ("npm test > out.txt 2> err.log", "/p", ["npm test > out.txt 2> err.log"]),
    ("npm test &>/dev/null; npm run x 2>/dev/null", "/p", ["npm test", "npm run x"]),
    ("make > 5; make >& log; make >&2; make 2>&-", "/p", ["make > 5", "make >& log", "make", "make"]),
    ("# why it is so\nmake\nmake test", "/p", ["make", "make test"]),
    ("cat <<EOF > f\nx; y\nEOF", "/p", ["cat <<EOF > f x; y EOF"]),
    ("diff <(sort a; ls) b && make", "/p", ["make"]),
    ("echo 'no end; ls", "/p", ["echo 'no end; ls"]),
    ("", "/p", []),
)  # fmt: skip


@each_row("line, folder, commands", _LINES)
def test_a_line_is_cut_where_a_shell_cuts_it(line: str, folder: str, commands: list[str]) -> None:
    assert simple_commands(line, "/p") == (folder, commands)


def test_a_quoted_word_is_no_operator() -> None:
    assert is_looking('grep "a > b" f') and not is_looking("grep a > b")


@pytest.mark.parametrize("line", ["x '" + "a" * 200_000 + "'", "a;" * 200_000, "$(" * 100_000, "'" * 100_001])
def test_a_line_of_any_length_is_read_at_once(line: str) -> None:
    begun = time.process_time()
    assert simple_commands(line, "/p")[0] == "/p"
    assert time.process_time() - begun < 0.5
