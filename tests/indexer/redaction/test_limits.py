"""How far a rule looks and how much it takes: the last that counts, and the first that does not."""

import random
import re
import string

import pytest
from tables import each_row

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.columns import find_in_columns
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.key_pieces import find_key_pieces
from ctxrank.indexer.redaction.kubernetes_secrets import find_kubernetes
from ctxrank.indexer.redaction.letters import reads_like_a_word
from ctxrank.indexer.redaction.linear_patterns import LinearPattern
from ctxrank.indexer.redaction.purged_secrets import (
    BlockedSecret,
    can_be_purged,
    find_purged_secrets,
    hash_bucket,
    secret_digest,
)
from ctxrank.indexer.redaction.ruleset import RedactionMode, may_hold_secret
from ctxrank.indexer.redaction.user_rules import parse_user_rules
from ctxrank.indexer.redaction.views import is_plain, seen


def made(length: int) -> str:
    """Letters and digits that nobody typed."""
    chance = random.Random(length)
    return ("a7Qx" + "".join(chance.choices(string.ascii_letters + string.digits, k=length)))[:length]


@each_row("count, is_taken", [(100, True), (101, False)])
def test_a_file_has_at_most_a_hundred_rules(count: int, is_taken: bool) -> None:
    value = {"rules": [{"name": f"r{number}", "pattern": "x"} for number in range(count)]}
    if is_taken:
        assert len(parse_user_rules(value, "F").rules) == count
    else:
        with pytest.raises(UsageError, match=r"has 101 rules"):
            parse_user_rules(value, "F")


@each_row(
    "field, value, is_taken",
    [
        ("name", "a" * 64, True),
        ("name", "a" * 65, False),
        ("name", "-a", False),
        ("label", "[" + "x" * 78 + "]", True),
        ("label", "[" + "x" * 79 + "]", False),
        ("label", "", False),
        ("keywords", [""], False),
        ("keywords", ["ABC"], True),
    ],
)
def test_a_rule_has_a_short_name_and_a_short_label(field: str, value: object, is_taken: bool) -> None:
    section = {"rules": [{"name": "a", "pattern": "zz", field: value}]}
    if is_taken:
        (rule,) = parse_user_rules(section, "F").rules
        assert rule.keywords == (("abc",) if field == "keywords" else ())
    else:
        with pytest.raises(UsageError):
            parse_user_rules(section, "F")


def test_what_cannot_be_used_is_shown_by_its_first_sixty_characters() -> None:
    for length, shown in ((60, "x" * 60 + "'"), (61, "x" * 60 + "…'")):
        with pytest.raises(UsageError) as refused:
            parse_user_rules("x" * length, "F")
        assert shown in refused.value.message


def test_a_pattern_has_at_most_a_thousand_characters_and_2500_steps() -> None:
    LinearPattern("x" * 1000, "F").compiled()
    with pytest.raises(UsageError, match="has 1001 characters"):
        LinearPattern("x" * 1001, "F").compiled()
    steps: list[int] = []
    for last in range(480, 500):
        try:
            LinearPattern(f"a{{1000}}b{{1000}}c{{{last}}}", "F").compiled()
        except UsageError as refused:
            steps.append(int(refused.message.partition("(")[2].partition(" ")[0]))
    assert steps and min(steps) == 2501 and "at most 2500" in str(refused_by_size())


def refused_by_size() -> UsageError:
    """What is said of a pattern of too many steps."""
    with pytest.raises(UsageError) as refused:
        LinearPattern("a{1000}b{1000}c{1000}", "F").compiled()
    return refused.value


@each_row("before", [0, 255, 256, 257, 300])
@each_row("length", [1, 1023, 1024])
def test_a_match_of_1024_characters_is_found_whole_however_many_came_before(before: int, length: int) -> None:
    text = "k1 " * before + "y" * 1500 + " k" + "2" * (length - 1) + " k3" if length > 1 else "k1 " * before + "k"
    spans = list(LinearPattern("k[0-9]*", "F").spans(text))
    assert spans[before][1] - spans[before][0] == length and len(spans) == before + (2 if length > 1 else 1)


@each_row("length, can_be", [(7, False), (8, True), (10_000, True), (10_001, False)])
def test_a_secret_that_is_purged_has_eight_to_ten_thousand_characters(length: int, can_be: bool) -> None:
    assert can_be_purged("q" * length) is can_be


@each_row("text", ["two\nlines of it", " padded text", "padded text ", "-----BEGIN", "forgotten", "ORGOTTEN"])
def test_what_stands_in_many_texts_is_no_secret_to_be_purged(text: str) -> None:
    assert not can_be_purged(text)


def test_a_purged_secret_is_found_by_its_digest_wherever_it_stands_and_an_order_only_what_can_be_purged() -> None:
    def blocked(secret: str, key: str = "k", *, is_order: bool = False) -> BlockedSecret:
        return BlockedSecret(secret_digest(key, secret), len(secret), hash_bucket(key, secret[0]), key, is_order)

    text = "short longenough short longenoug longenough"
    for secret, places in (("short", [0, 17]), ("longenough", [6, 33]), ("longenougx", [])):
        spans = [(place, place + len(secret)) for place in places]
        assert sorted(find_purged_secrets(text, (blocked(secret),))) == spans
        assert sorted(find_purged_secrets(text, (blocked(secret, "other"),))) == spans
        by_order = [] if len(secret) < 8 else spans
        assert sorted(find_purged_secrets(text, (blocked(secret, is_order=True),))) == by_order
    both = (blocked("short"), blocked("longenough", "other", is_order=True))
    assert sorted(find_purged_secrets(text, both)) == [(0, 5), (6, 16), (17, 22), (33, 43)]
    assert {hash_bucket("k", char) for char in string.printable} == set(range(16))


@each_row(
    "text, may",
    [
        ("a" * 13, False),
        ("a" * 14, True),
        ("the token is a bcdefg", False),
        ("the token is a bcdefgh", False),
        ("the token is a bcdefg1", True),
        ("the token is a bcDefgh", False),
        ("the token is a bcDefghi", True),
        ("the token is a Bcdefghi", False),
        ("the words are bcdefg12", False),
        ("a token, a 1", True),
        ("a token = a", True),
        ("the token \u0661", True),
        ("machine x login y", True),
        ("a login y", False),
        ("xox", True),
        ("0a1b2c3d-0000-4000-8000-00000000abcd", False),
        ("\u0130token=x", True),
    ],
)
def test_a_plain_sentence_is_spared_the_rules(text: str, may: bool) -> None:
    assert may_hold_secret(text) is may and not may_hold_secret(text, RedactionMode.OFF)


def test_modes_are_equal_that_redact_alike() -> None:
    rules = parse_user_rules({"rules": [{"name": "a", "pattern": "zz"}]}, "F")
    both, with_rules = RedactionMode.BOTH, RedactionMode.BOTH.with_rules(rules)
    assert both == RedactionMode("both") != RedactionMode.ENTROPY and both != "both"
    assert with_rules != both == with_rules.with_rules(None) and hash(both) == hash(with_rules.with_rules(None))
    assert (repr(both), repr(with_rules)) == ("RedactionMode('both')", "RedactionMode('both', with rules)")
    assert both.described == "both" and with_rules.described.startswith("both with rules ")
    assert [(mode.sees_forms, mode.sees_randomness) for mode in map(RedactionMode, ("pattern_only", "entropy"))] == [
        (True, False),
        (False, True),
    ]
    assert (both.sees_forms, both.sees_randomness) == (True, True)


def test_a_table_is_read_to_its_thousandth_row() -> None:
    value = made(16)
    text = "name,password\n" + f"ana,{value}\n" * 1002
    found = list(find_in_columns(text, [text.index("password")]))
    assert len(found) == 1000 and {text[one.start : one.end] for one in found} == {value}


def test_a_table_may_begin_with_the_name_of_a_secret() -> None:
    value = made(16)
    (found,) = find_in_columns(f"password,name\n{value},ana\n", [0])
    assert found[:2] == (14, 30)
    assert list(find_in_columns("password\n{value}\n", [0])) == []


def test_a_key_block_is_read_to_its_thousandth_line_behind_four_headers() -> None:
    line = made(64)
    for lines, headers, count in ((999, 4, 999), (1002, 4, 1000), (3, 5, 0), (2, 0, 2), (1, 0, 0)):
        text = "-----BEGIN PRIVATE KEY-----\n" + "Version: 1\n" * headers + f"{line}\n" * lines
        assert len(find_key_pieces(text, [0])) == count, (lines, headers)


@each_row(
    "before, behind, length, is_found",
    [
        (300, 0, 10, True),
        (301, 0, 10, False),
        (None, 250, 10, True),
        (None, 400, 10, False),
        (0, 0, 9, False),
    ],
)
def test_a_manifest_says_near_its_data_that_it_is_a_secret(
    before: int | None, behind: int, length: int, is_found: bool
) -> None:
    """From the word `kind` to `data:`, or from there on."""
    kind, value = "kind: Secret", made(length)
    head = "" if before is None else kind + "\n" + "#" * (before - len(kind) - 2) + "\n" if before else f"{kind}\n"
    text = f"{head}data:\n  a: {value}\n" + ("" if before is not None else "#" * behind + f"\n{kind}\n")
    found = find_kubernetes(text, text.lower(), [text.index("data:")])
    assert [text[start:end] for start, end, *_ in found] == ([value] if is_found else [])


def test_of_several_manifests_each_says_for_itself_whether_it_is_a_secret() -> None:
    values = [made(length) for length in (20, 21, 22, 23)]
    kinds = ("kind: Secret", "kind: Zebra", "kind: Secret", "kind: Secret")
    text = ("#" * 3000 + "\n").join(f"{kind}\ndata:\n  a: {one}\n" for kind, one in zip(kinds, values, strict=True))
    places = [match.start() for match in re.finditer("data:", text)]
    found = [text[start:end] for start, end, *_ in find_kubernetes(text, text.lower(), places)]
    assert found == [values[0], *values[2:]]


def test_sixty_four_letters_say_whether_a_word_could_be_one() -> None:
    good, bad = "station" * 10, "qzxjk" * 13
    assert reads_like_a_word(good[:63] + bad) and not reads_like_a_word(bad[:64] + good * 3)


@pytest.mark.parametrize("count", [1, 20, 21, 200])
def test_a_text_of_many_kinds_of_disguises_is_seen_as_one_of_few(count: int) -> None:
    wide = "".join(chr(0xFF21 + number % 26) + chr(0x1D400 + number % 52) for number in range(count))
    plain = "".join(string.ascii_uppercase[n % 26] + string.ascii_letters.swapcase()[n % 52] for n in range(count))
    view = seen(f"{wide}\u200bx")
    assert view.text == f"{plain}x" and view.span(0, len(plain)) == (0, len(wide))
    assert view.span(len(plain), len(plain) + 1) == (len(wide) + 1, len(wide) + 2)
    assert not is_plain(wide) and is_plain(plain)


def test_what_is_spelt_over_and_over_is_still_taken_out() -> None:
    value = made(24)
    text = f"password={value}"
    for _ in range(3):
        text = text.replace("p", "\uff50").replace("w", "\x1b[1mw\x1b[0m")
        assert value not in redact(text).text
