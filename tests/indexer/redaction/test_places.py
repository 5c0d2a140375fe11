"""Where a decoded or copied part stands in its text: each character's own place, by hand and against a slow reading."""

import base64
import random
import string
from unittest.mock import patch

import ahocorasick_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.redaction import copies
from ctxrank.indexer.redaction.copies import find_copies, find_in_parts, value_of
from ctxrank.indexer.redaction.encoded import readings
from ctxrank.indexer.redaction.guards import entropy
from ctxrank.indexer.redaction.key_pieces import find_key_pieces
from ctxrank.indexer.redaction.letters import reads_like_a_word
from ctxrank.indexer.redaction.random_words import find_random
from ctxrank.indexer.redaction.views import is_plain, seen


def _word(seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


def test_each_character_of_base64_has_its_own_place() -> None:
    """Eight characters say `wanted`; the first letter is in the first two, the second in the second and third."""
    coded = base64.b64encode(b"wanted").decode()
    ((said, starts, ends),) = [one for one in readings(f"ab: {coded}.") if one[0] == "wanted"]
    assert (said, [*starts], [*ends]) == ("wanted", [4, 5, 6, 8, 9, 10], [6, 7, 8, 10, 11, 12])
    padded = base64.b64encode(b"wanted!!").decode()
    ((_, starts, ends),) = [one for one in readings(padded) if one[0] == "wanted!!"]
    assert ends[-1] == len(padded) == 12 and ends[-2] == 10 and starts[-1] == 9


@pytest.mark.parametrize("before", range(4))
def test_base64_is_read_from_each_of_four_places(before: int) -> None:
    coded = "x" * before + base64.b64encode("größe123".encode()).decode()
    found = [one for one in readings(f"{coded}=") if one[0] == "größe123"]
    assert [next(iter(starts)) for _, starts, _ in found] == [before]


def test_each_character_behind_percent_signs_has_its_own_place() -> None:
    ((said, starts, ends),) = [one for one in readings("x p%C3%A9q%20rst y") if "%" not in one[0]]
    assert (said, [*starts], [*ends]) == (
        "péq rst",
        [2, 3, 9, 10, 13, 14, 15],
        [3, 9, 10, 13, 14, 15, 16],
    )
    texts = {one[0] for one in readings("a+b%2Bc+d")}
    assert texts == {"a+b+c+d", "a b+c d"}
    ((said, starts, ends),) = list(readings("é%41bcdefg"))
    assert (said, [*starts][:3], [*ends][:3]) == ("éAbcdefg", [0, 1, 4], [1, 4, 5])
    ((said, starts, ends),) = list(readings("x %41éü%42cdef"))
    assert (said, [*starts][:5], [*ends][:5]) == ("AéüBcdef", [2, 5, 6, 7, 10], [5, 6, 7, 10, 11])


def test_each_character_behind_an_escape_of_json_has_its_own_place() -> None:
    ((said, starts, ends),) = list(readings('l\nx: a\\"b\\u00e9\\n\\ud83d\\ude00c'))
    assert said == 'x: a"bé\n😀c'
    assert [*starts] == [2, 3, 4, 5, 6, 8, 9, 15, 17, 29] and [*ends] == [3, 4, 5, 6, 8, 9, 15, 17, 29, 30]


@given(st.lists(st.sampled_from(["ab", "abc", "b", " ", "x"]), max_size=30).map("".join), st.integers(1, 9))
def test_what_is_found_in_parts_is_what_is_found_in_the_whole(text: str, size: int) -> None:
    finder = ahocorasick_rs.AhoCorasick(["ab", "abc"], matchkind=ahocorasick_rs.MatchKind.LeftmostLongest)
    with patch.object(copies, "_PART_CHARS", size):
        in_parts = list(find_in_parts(finder, text, 3))
    assert in_parts == finder.find_matches_as_indexes(text)
    each = ahocorasick_rs.AhoCorasick(["ab", "abc", "b"])
    with patch.object(copies, "_PART_CHARS", size):
        in_parts = list(find_in_parts(each, text, 3, overlapping=True))
    assert sorted(in_parts) == sorted(each.find_matches_as_indexes(text, overlapping=True))


def test_a_short_copy_is_a_word_of_its_own_and_a_long_one_may_be_within_one() -> None:
    short, long = _word(1, 19), _word(2, 20)
    for value, within in ((short, []), (long, [(1, 21)])):
        assert list(find_copies(f"-{value}-", {value})) == [(1, 1 + len(value))]
        for text in (f"x{value}", f"x{value}x", f"x{value}é"):
            assert list(find_copies(text, {value})) == within
    assert list(find_copies(f"{short}x", {short})) == []
    both = f"{short} {long} {short}"
    assert list(find_copies(both, {short, long})) == [(0, 19), (20, 40), (41, 60)]
    assert list(find_copies(short * 2 + " " + short, {short})) == [(39, 58)]


def test_a_value_counts_elsewhere_from_eight_characters_on_that_were_made() -> None:
    eight = "x7Kp2Qm9"
    assert value_of(eight, "named") == eight and value_of(eight[:7], "named") == ""
    assert value_of(f"ana:{eight}@", "database-url") == value_of(f"ana:{eight}", "curl-auth-user") == eight
    assert value_of(f"ana:{eight}", "named") != eight
    assert value_of(_word(3, 1024), "named") and not value_of(_word(3, 1025), "named")
    for text in ("password", "a1a1a1a1", f"{eight} {eight}", f"{eight}'", "12345678", "1.5e+10", f"{eight}redacted"):
        assert value_of(text, "named") == "", text


def test_entropy_by_hand() -> None:
    assert entropy("") == entropy("a") == entropy("aaaa") == 0
    assert entropy("ab") == 1 and entropy("abcd") == 2 and entropy("aabb") == 1
    assert entropy("aab") == pytest.approx(0.9183, abs=1e-4)
    for length in (599, 600, 700):
        text = "ab" * (length // 2) + "c" * (length % 2)
        assert entropy(text) == pytest.approx(1.0, abs=0.02)


def test_letters_are_told_by_their_pairs_and_only_64_of_them() -> None:
    assert reads_like_a_word("monkey") and not reads_like_a_word("qwzxkfjv") and reads_like_a_word("MONKEY")
    assert reads_like_a_word("x") and reads_like_a_word("") and reads_like_a_word("12")
    assert reads_like_a_word("station" * 9 + "ion" + "qzxjk" * 40) and not reads_like_a_word(
        "qzxjk" * 12 + "station" * 40
    )


def test_a_random_word_is_found_behind_a_name_or_in_an_address() -> None:
    word = "a1B2c3D4e5F6g7H8i9J0k"
    for before in ("key=", '"key": "', "key => ", "key := ", "x.y-z: ", "key = '"):
        assert find_random(f"{before}{word}") == [(len(before), len(before) + len(word))], before
    for before in ("", "see ", "= ", "key ", "key==", f"{' ' * 90}="):
        assert find_random(f"{before}{word}") == [], before
    address = f"https://x.example/{word}/end"
    assert find_random(address) == [(18, 18 + len(word))]
    assert find_random(f"key={word[:19]}") == []


_BLOCK = ["-----BEGIN PRIVATE KEY-----", _word(4, 64), _word(5, 64), "Ab1+" + _word(6, 4), "-----END PRIVATE KEY-----"]


def test_a_key_block_in_strings_of_a_program_is_found_line_by_line() -> None:
    text = "\n".join(f'"{line}\\n" +' for line in _BLOCK)
    place = text.lower().index("-----begin")
    assert [text[start:end] for start, end, *_ in find_key_pieces(text, [place])] == _BLOCK[1:4]
    assert find_key_pieces(text, [place, place]) == find_key_pieces(text, [place])
    with_header = text.replace(_BLOCK[1], f'Version: 2\\n" +\n"{_BLOCK[1]}')
    assert [with_header[start:end] for start, end, *_ in find_key_pieces(with_header, [place])] == _BLOCK[1:4]
    one_line = "\n".join([_BLOCK[0], _BLOCK[1], _BLOCK[4]])
    assert find_key_pieces(one_line, [0]) == []
    for first, is_found in ((20, True), (19, False)):
        short = "\n".join([_BLOCK[0], _word(7, first), _BLOCK[2], _BLOCK[4]])
        assert bool(find_key_pieces(short, [0])) is is_found


def test_a_part_that_is_seen_has_its_place_in_the_text() -> None:
    text = "gh\u200bp_\uff10x\u200b\u200by"
    view = seen(text)
    assert view.text == "ghp_0xy" and not is_plain(text) and is_plain("ghp_0xy\r\n\té")
    places = {
        part: view.span(view.text.index(part), view.text.index(part) + len(part))
        for part in ("gh", "p_", "0x", "xy", "y")
    }
    assert places == {"gh": (0, 2), "p_": (3, 5), "0x": (5, 7), "xy": (6, 10), "y": (9, 10)}
    assert view.span(0, 7) == (0, len(text)) and view.span(1, 3) == (1, 4)
    coloured = seen("a\x1b[31mred\x1b[0m b")
    assert coloured.text == "ared b" and coloured.span(1, 4) == (6, 9)
