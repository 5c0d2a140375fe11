"""Secrets go, everything else stays. Every secret here is made when the test runs."""

import json
import random
import re
import string
import subprocess
import sys
import time

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.redaction.engine import (
    RULESET_VERSION,
    Redacted,
    RedactionMode,
    _Claims,  # pyright: ignore[reportPrivateUsage] # where its labels are tells how far is looked, and no answer does
    find_rule,
    redact,
)
from ctxrank.indexer.redaction.guards import Secret, found_at, looks_random
from ctxrank.indexer.redaction.rules import FORMAT_RULES, Rule
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES
from ctxrank.indexer.text.escapes import without_escapes

_LETTERS = string.ascii_letters + string.digits


def _fake(length: int, letters: str = _LETTERS) -> str:
    """A made-up secret, the same in every run, always with a digit."""
    return "Q7" + "".join(random.Random(length).choices(letters, k=length - 2))


WORD = "hunter" + "2" * 2
GUESS = "let" + "mein"
LONG = _fake(36)
JWT = ".".join(["ey" + "J" + _fake(20), "ey" + "J" + _fake(40), _fake(30)])
PEM_LINES = "".join(_fake(64) + "\n" for _ in range(4))


DASHES = "-" * 5


def _begin(kind: str) -> str:
    return f"{DASHES}BEGIN {kind}PRIVATE KEY{DASHES}"


def _pem(kind: str) -> str:
    return f"{_begin(kind)}\n{PEM_LINES}{_begin(kind).replace('BEGIN', 'END')}"


@each_row(
    "text, clean",
    [
        (f"password={WORD}", "password=REDACTED"),
        (f"passwd = '{WORD}'", "passwd = 'REDACTED'"),
        (f"pwd: {WORD}", "pwd: REDACTED"),
        (f"api_key={LONG}", "api_key=REDACTED"),
        (f"token: {LONG}", "token: REDACTED"),
        ("sk-" + "ant-" + LONG, "ANTHROPIC_KEY_REDACTED"),
        ("sk-" + LONG, "OPENAI_KEY_REDACTED"),
        ("ghp_" + LONG, "GITHUB_TOKEN_REDACTED"),
        ("gho_" + LONG, "GITHUB_OAUTH_REDACTED"),
        ("github" + "_pat_" + LONG, "GITHUB_PAT_REDACTED"),
        ("AK" + "IA" + _fake(16, string.ascii_uppercase), "AWS_ACCESS_KEY_REDACTED"),
        ("xox" + "b-" + LONG, "SLACK_TOKEN_REDACTED"),
        ("pk" + "_test_" + LONG, "STRIPE_PK_REDACTED"),
        ("sk" + "_live_" + LONG, "STRIPE_SK_REDACTED"),
        (f"Authorization: Bearer {LONG}", "Authorization: Bearer REDACTED"),
        (_pem("RSA "), "PRIVATE_KEY_REDACTED"),
        (_pem(""), "PRIVATE_KEY_REDACTED"),
        (_pem("OPENSSH "), "SSH_KEY_REDACTED"),
    ],
)
def test_what_was_redacted_when_stored_keeps_its_label(text: str, clean: str) -> None:
    assert redact(f"see {text} here").text == f"see {clean} here"


@each_row(
    "text, clean",
    [
        (f"my_secret={WORD}", "my_secret=[REDACTED]"),
        (f"client_secret: {WORD}", "client_secret: [REDACTED]"),
        (f"SECRET_KEY={WORD}", "SECRET_KEY=[REDACTED]"),
        (f"access_token={LONG}", "access_token=[REDACTED]"),
        (f"auth_token: '{LONG}'", "auth_token: '[REDACTED]'"),
        (f"bearer {LONG}", "bearer [REDACTED]"),
        (JWT, "[JWT_REDACTED]"),
        (f"postgres://me:{WORD}@db.example:5432/x", "postgres://[REDACTED]@db.example:5432/x"),
        (f"postgresql+psycopg://me:{WORD}@db/x", "postgresql+psycopg://[REDACTED]@db/x"),
        (
            f"mongodb+srv://me:{WORD}/{WORD}@h.example/db?mail=a@b",
            "mongodb+srv://[REDACTED]@h.example/db?mail=a@b",
        ),
        (f"redis://:{WORD}@h:6379/0", "redis://[REDACTED]@h:6379/0"),
        (f"https://me:{WORD}@example.org/a", "https://[REDACTED]@example.org/a"),
    ],
)
def test_what_was_redacted_when_shown_keeps_its_label(text: str, clean: str) -> None:
    assert redact(f"see {text} here").text == f"see {clean} here"


@each_row("tail", ["", "\n", " x", "&user=me", '"'])
def test_a_password_that_is_a_plain_word_is_seen_where_an_equals_sign_is_tight(tail: str) -> None:
    assert redact(f"--password={GUESS}{tail}").text == f"--password=REDACTED{tail}"


@each_row(
    "before, behind, is_seen",
    [
        ("user: me\n", "", True),
        ("  username: me\n  ", "", True),
        ("", "user: me\n", True),
        ("x: 1\nuser: me\n", "", True),
        ("user: me\nx: 1\n", "", False),
        ("", "x: 1\nuser: me\n", False),
        ("", "", False),
        ("say user: me ", "", False),
    ],
)
def test_a_plain_word_is_a_password_beside_the_line_that_says_who_logs_in(
    before: str, behind: str, is_seen: bool
) -> None:
    text = f"{before}password: {GUESS}\n{behind}"
    assert redact(text).text == (text.replace(GUESS, "REDACTED") if is_seen else text)


@each_row("first, second", [("mysql", "mariadb"), ("mariadb", "mysql")])
def test_what_several_commands_take_as_an_option_goes_behind_each(first: str, second: str) -> None:
    text = f"{first} -u me -p{WORD} shop\n{second} -u me -p{WORD} shop\n"
    assert redact(text * 2).text == text.replace(WORD, "[REDACTED:password-flag]") * 2


@each_row(
    "size, count, asked",
    [(13, 201, 3), (14, 201, 201), (13, 200, 200), (14, 200, 200)],
)
def test_where_a_dense_text_repeats_itself_its_verdict_is_not_asked_for_again(
    size: int, count: int, asked: int
) -> None:
    """Unless what was found ends so near the end of what is compared that more could have counted."""
    text = f"ab={'x' * 37}" * count
    tried: list[int] = []

    def secret_at(place: int) -> Secret:
        tried.append(place)
        return Secret(place + 3, place + 3 + size, "GONE", "made-up")

    found = list(found_at(text, [*range(0, len(text), 40)], 2, 80, secret_at))
    assert [(one.start, one.end) for one in found] == [(at + 3, at + 3 + size) for at in range(0, len(text), 40)]
    assert len(tried) == asked


def test_a_value_goes_on_to_its_end_and_the_next_name_stays() -> None:
    assert redact(f"Password={WORD},{WORD}&x;Server=db1").text == "Password=REDACTED;Server=db1"


def test_an_aws_secret_with_slashes_is_removed_whole() -> None:
    secret = "/".join([_fake(12), "a" * 12, _fake(14)])
    for text in (
        f"AWS_SECRET_ACCESS_KEY={secret}",
        f'aws_secret_access_key = "{secret}"',
        f"secret: {secret}",
    ):
        clean = redact(text).text
        assert not any(part in clean for part in secret.split("/")), clean


@each_row(
    "text",
    [
        "secret management is required",
        "the password is required to log in",
        "token budget: exceeded",
        "password: required.",
        "Password: can't be blank",
        "password = get_password()",
        "def login(password: str, token: str | None = None): ...",
        "password: Optional[str]",
        "self.password = password",
        "connect(password=pw, timeout=3)",
        'secret=os.environ["X"]',
        "api_key=api_key",
        "api_key = settings.providers.openai_api_key",
        "token = secrets.token_urlsafe(32)",
        "password: ${PASSWORD}",
        "password=$PASSWORD",
        "password={{ db_password }}",
        "--password=<password>",
        "postgres://${DB_USER}:${DB_PASSWORD}@db/x",
        'api_key = "YOUR_API_KEY_HERE"',
        '{"password": "string", "token": null, "secret": []}',
        "max_tokens=200000 tokens: 128000",
        "secret: src/auth/token.py:42",
        "password file: /run/secrets/db_password",
        "PWD=/home/user1/work",
        "secret: my-app-secret-name",
        "http://localhost:3000/@vite/client",
        "ssh://git@example.org/a/b.git",
        "redis://h:6379/0?mail=a@b",
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "session 123e4567-e89b-12d3-a456-426614174000",
        "src/auth/OAuth2ProviderFactory.ts:12:3 getUserByIdFromCache2",
        "sk-fading-circle-container-wide",
        "Bearer authentication is required",
    ],
)
def test_prose_code_names_and_placeholders_stay_as_they_are(text: str) -> None:
    assert redact(text) == Redacted(text, ())


@each_row("value", [WORD, 'a"b' + WORD, "back\\" + WORD, 123456, -1.5e30])
def test_json_stays_json_and_loses_only_the_value(value: object) -> None:
    document = {"a": 1, "password": value, "list": [{"client_secret": value}, "x"]}
    for text in (
        json.dumps(document),
        json.dumps(document, indent=1),
        json.dumps(document, separators=(",", ":")),
    ):
        clean = json.loads(redact(text).text)
        assert clean == {"a": 1, "password": "REDACTED", "list": [{"client_secret": "[REDACTED]"}, "x"]}


@each_row("name", ["twitter", "authorization", "aws_secret_access_key", "url-token", "cookie sid=", "password", "x"])
@each_row("number", [10**24, 10**45, -(10**24), 1234.5e300])
def test_a_number_that_is_redacted_leaves_a_json_value(name: str, number: float) -> None:
    for document in ({name: number}, {"": [name, number, name]}, {"": [[name], number]}):
        for text in (json.dumps(document), json.dumps(document, separators=(",", ":"))):
            json.loads(redact(text).text)
            twice = redact(json.dumps({"body": text})).text
            json.loads(json.loads(twice)["body"])


def test_json_inside_a_json_string_stays_json_twice() -> None:
    clean = redact(json.dumps({"body": json.dumps({"password": WORD, "n": 2})})).text
    assert json.loads(json.loads(clean)["body"]) == {"password": "REDACTED", "n": 2}


_FRAGMENTS = st.sampled_from([
    "password", "secret", "token", "api_key", "=", ":", '"', "'", "\\", "\n", " ", ",", "}", "@", "://",
    "/", "é", WORD, LONG, JWT, "ghp_" + LONG, "REDACTED", "[REDACTED]", "postgres://a:", "Bearer ",
    "<private>", "</private>", _pem(""), "Authorization: ", "$", "(", ".", _begin(""), "\\n",
    "12345", "\u0130", "\u212a", "client_secret", "twitter_id", "glpat-" + LONG, "[REDACTED:gitlab-pat]", ">", "</",
    "--token ", "Cookie: sid=", "curl -u me:", "mysql -p",
    "\u200b", "\u200d", "\x1b[31m", "\x1b", "\x9b", "\x00", "\x0c", "\U000e0041", "\uff50assword",
    "\uff1a", "é", "\ufe0f",
    "sshpass -p ", "machine a.b login c password ", ":5432:a:b:", "kind: Secret\ndata:\n a: ", "//h?sig=", "eyJ",
])  # fmt: skip
_TEXTS = st.one_of(st.text(), st.lists(_FRAGMENTS, max_size=14).map("".join))
_VALUES = st.one_of(_TEXTS.filter(lambda text: "private>" not in text), st.integers(), st.floats(allow_nan=False))
_MODES = st.sampled_from(REDACTION_MODES)


@example({"": ["TWITTER", 10**24]}, False)
@example({"\naPI_0000001112234A5b": []}, False)  # a line end, and no `naPI`
@example({"twitter": [], "": ["x", [["TWITTER"], 10**24]]}, True)
@given(st.dictionaries(_TEXTS.filter(lambda text: "private>" not in text), st.lists(_VALUES)), st.booleans())
def test_any_json_document_is_still_one_afterwards(document: dict[str, object], is_tight: bool) -> None:
    text = json.dumps(document, separators=(",", ":") if is_tight else None)
    json.loads(redact(text).text)


@given(_TEXTS, _MODES)
def test_redacting_twice_changes_nothing_more(text: str, mode: RedactionMode) -> None:
    once = redact(text, mode)
    assert redact(once.text, mode) == Redacted(once.text, ())


@given(_TEXTS, _MODES)
def test_a_rule_is_named_exactly_when_the_text_changed(text: str, mode: RedactionMode) -> None:
    clean = redact(text, mode)
    assert bool(clean.rules) == (clean.text != without_escapes(text))
    assert list(clean.rules) == sorted(set(clean.rules))


@given(st.text(string.ascii_lowercase + " .,\n'-"))
def test_prose_without_a_keyword_or_a_sign_is_never_changed(text: str) -> None:
    assert redact(text, RedactionMode.BOTH).text == text


def test_each_mode_does_its_part_and_off_does_nothing() -> None:
    text = f"password={WORD} sig={_fake(28)} <private>me</private>"
    assert redact(text, RedactionMode.OFF) == Redacted(text, ())
    assert redact(text).rules == ("password", "private-block")
    assert redact(text, RedactionMode.ENTROPY).rules == ("entropy", "private-block")
    assert redact(text, RedactionMode.BOTH).text == "password=REDACTED sig=[REDACTED] [PRIVATE]"


def test_a_random_word_goes_only_where_a_value_or_a_part_of_a_url_stands() -> None:
    word = _fake(28)
    for text in (f"sig={word}", f'"sig": "{word}"', f"https://h.example/hook/{word}/x?sig={word}"):
        assert word not in redact(text, RedactionMode.ENTROPY).text
    for text in (
        f"see {word} there",
        f"a/{word}.py",
        "fn=getUserByIdFromCache2",
        "class: ThisIsALongIdentifierV2",
    ):
        assert redact(text, RedactionMode.ENTROPY).text == text


def test_entropy_keeps_paths_lines_and_digests() -> None:
    text = "at: src/auth/OAuth2ProviderFactory.ts:12:3 sum=sha256-" + _fake(43) + " id=" + "0123456789ABCDEF" * 3
    assert redact(text, RedactionMode.ENTROPY).text == text


def test_a_private_block_goes_with_what_is_nested_in_it_and_a_lone_tag_stays() -> None:
    assert redact("a <private>b <private>c</private> d</private> e").text == "a [PRIVATE] e"
    assert redact("a <PRIVATE>b\nc</Private> d").text == "a [PRIVATE] d"
    assert redact("use <private> to hide").text == "use <private> to hide"


def test_a_key_block_that_was_cut_off_is_removed_too() -> None:
    assert redact("x " + _pem("EC ")[:200]).text.startswith("x PRIVATE_KEY_REDACTED")


@pytest.mark.slow
@pytest.mark.parametrize("piece", [
    "a", "=", '"', "eyJ", "eyJaaaaa.", DASHES + "BEGIN ", _begin(""), " ", "\\", "-", "@", "://a:", "aB3",
    "\u0130", "password=", "password='", "password=\\'", 'password="a a', "password=a,",
    "password=a/", "password: str ", "secret=secret", "secret=a::", "postgres://a:b/@",
    "bearer a", "<private>", "</private>", "token=&a.", "ey", "s.", "pat", "sk0", "auth_key=", "aes-key='",
    "--token ", "curl -u a:", "twitter = a", "twitter, ", "kind: secret data: ", "xoxb-", "glpat-", "1%", "q~",
    "machine a login b ", " -p mysql", "sess=cookie", "authorization: a ", ":5432:", "://a", "hooks.slack.com/",
])  # fmt: skip
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece)) + "!\n"
    start = time.process_time()
    redact(text, RedactionMode.BOTH)
    assert time.process_time() - start < 1.5  # 0.15 s at most where this was written; quadratic takes minutes


@pytest.mark.slow
@given(st.lists(_FRAGMENTS, min_size=1, max_size=4).map("".join), _MODES)
@settings(max_examples=examples(60))
def test_any_fragments_repeated_take_linear_time(piece: str, mode: RedactionMode) -> None:
    text = (piece * (100_000 // len(piece) + 1))[:100_000]
    start = time.process_time()
    redact(text, mode)
    assert time.process_time() - start < 2.5  # linear: 0.2 s at most where this was written


def test_the_version_of_the_rules_says_that_they_grew() -> None:
    assert RULESET_VERSION == 14


def test_importing_the_rules_compiles_none_of_them() -> None:
    code = "import re, ctxrank.indexer; re.compile = None; import ctxrank.indexer.redaction.engine"
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(max_examples=examples(300))
@example(["mysql x"])
@given(
    st.lists(st.sampled_from(["mysql", "mariadb x", "nothing", f"mysql {'.' * 97}", f"mysql {'.' * 390}"]), max_size=20)
)
def test_an_option_is_a_secret_near_behind_its_command_and_in_its_line_only(commands: list[str]) -> None:
    rule = next(rule for rule in FORMAT_RULES if "mysql" in rule.anchors)
    text = "".join(f"{command} -p{WORD}\n" for command in commands)
    places = [match.start() for match in re.finditer("mysql|mariadb", text)]
    lines = [match.start() for match in re.finditer(" -p", text)]
    is_near = [command.startswith("m") and len(command) < 200 for command in commands]
    expected = [(at + 3, at + 3 + len(WORD)) for at, near in zip(lines, is_near, strict=True) if near]
    assert list(find_rule(rule, text, places)) == expected


@pytest.mark.parametrize(("token", "is_found"), [("abcd", True), ("abca", False), ("aabb", False)])
def test_a_token_counts_if_its_entropy_is_not_below_the_least(token: str, is_found: bool) -> None:
    """Paper: four different letters have two bits each, which is just enough; with one twice it is 1.5."""
    rule = Rule("made-up", ("key-",), r"(?P<head>key-)[a-z]{4}", "GONE", least_entropy=2.0)
    text = f"a key-{token} b"
    assert list(find_rule(rule, text, [2])) == ([(6, 10)] if is_found else [])


def test_the_head_of_a_token_says_nothing_about_its_entropy() -> None:
    text = "key-aaaa"
    whole = Rule("made-up", ("key-",), "key-[a-z]{4}", "GONE", least_entropy=2.0)  # 2.0 with the head, 0.0 without
    assert list(find_rule(whole, text, [0])) == [(0, 8)]
    headed = whole._replace(pattern="(?P<head>key-)[a-z]{4}")
    assert list(find_rule(headed, text, [0])) == []


def test_a_word_is_random_where_letters_digits_and_case_change_often() -> None:
    """Paper, of 20 characters: j3, 3k, m4 and 4n count once and qR half, 4.5 / 20 = .225; one digit less is .125."""
    assert looks_random("abcdefghij3klm4nopqR")
    assert not looks_random("abcdefghijklm4nopqRs")
    assert not looks_random("abcdefghij3klm4nopq")  # 19 characters, and no capital
    assert not looks_random("ab3ab3ab3ab4ab3ab3aR")  # few different ones


def test_where_labels_are_is_counted_in_the_text_that_has_them() -> None:
    claims = _Claims("an abc and a defgh.", None)
    claims.add(3, 6, "[LONGER]", "one")
    claims.add(13, 18, "[B]", "two")
    names: set[str] = set()
    text, labels = claims.apply(names)
    assert (text, names) == ("an [LONGER] and a [B].", {"one", "two"})
    assert [text[start:end] for start, end in labels] == ["[LONGER]", "[B]"]


def test_of_two_rules_that_see_the_same_text_the_first_takes_all_of_it() -> None:
    assert redact(f"api_key=abc-ghp_{LONG} there") == Redacted("api_key=REDACTED there", ("api-key",))
