"""A secret with something invisible in it is a secret: what no output shows hides nothing from the rules."""

import random
import re
from functools import cache

import pytest
from disguises import CLASSES, CONTROLS, ESCAPES, IGNORABLE
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching import sample
from tables import each_row

from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.guards import entropy, looks_like_key
from ctxrank.indexer.redaction.linear_patterns import LinearPattern
from ctxrank.indexer.redaction.rules import RULES, TOKENS, VALUES, Rule
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES, RedactionMode, may_hold_secret
from ctxrank.indexer.redaction.user_rules import UserRule, UserRules
from ctxrank.indexer.text.escapes import without_escapes
from ctxrank.indexer.text.lines import printable

_DIGITS = "0123456789abcdef"


def _made(seed: str, size: int, letters: str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") -> str:
    return "Q7" + "".join(random.Random(seed).choices(letters, k=size - 2))


def _of_format(pattern: str, least_entropy: float, seed: str) -> str:
    rng = random.Random(seed)
    made = (sample(pattern, rng) for _ in range(500))
    return next(text for text in made if re.fullmatch(pattern, text) and entropy(text) >= least_entropy)


_SECRET = _made("value", 24)
# One secret for each of our own rules, in what makes it one: before, secret, behind.
OWN: dict[str, tuple[str, str, str]] = {
    "github-token": ("", "ghp_" + _made("gh", 36), ""),
    "github-oauth": ("", "gho_" + _made("gho", 36), ""),
    "github-pat": ("", "github" + "_pat_" + _made("pat", 40), ""),
    "anthropic-key": ("", "sk-" + "ant-" + _made("ant", 40), ""),
    "openai-key": ("", "sk-" + _made("sk", 40), ""),
    "aws-access-key": ("", "AK" + "IA" + _made("aws", 16, "ABCDEFGHIJ234567"), ""),
    "aws-secret-key": ("aws_secret_access_key = ", _made("aws2", 40), ""),
    "slack-token": ("", "xox" + "b-" + _made("slack", 24), ""),
    "stripe-sk": ("", "sk" + "_live_" + _made("stripe", 24), ""),
    "stripe-pk": ("", "pk" + "_test_" + _made("stripe", 24), ""),
    "jwt": ("", ".".join(["ey" + "J" + _made("a", 20), "ey" + "J" + _made("b", 40), _made("c", 30)]), ""),
    "authorization": ("Authorization: Bearer ", _SECRET, ""),
    "bearer": ("bearer ", _made("bearer", 30), ""),
    "database-url": ("postgres://me:", _SECRET, "@db/shop"),
    "url-credentials": ("https://me:", _SECRET, "@h.example/a"),
    "password": ("password=", _SECRET, ""),
    "api-key": ("api_key: '", _SECRET, "'"),
    "named-secret": ("client_secret = ", _SECRET, ""),
    "json": ('{"password": "', _SECRET, '"}'),
    "cookie": ("Cookie: sid=", _SECRET, ""),
    "curl-auth-user": ("curl -u me:", _SECRET, " https://h"),
    "netrc": ("machine a.example login me password ", _SECRET, ""),
    "pgpass": ("db:5432:shop:me:", _SECRET, ""),
    "password-flag": ("mysql -u me -p", _SECRET, ""),
    "url-signature": ("https://h/a?sig=", _SECRET, ""),
    "private-block": ("<private>", _SECRET, "</private>"),
    "vendor": ("twitter_api_key = '", _made("tw", 25, "abcdefghij23456789").lower(), "'"),
}


def _of_vendor(value: Rule) -> str:
    pattern = re.sub(r"\(\?<=.*?\)|\(\?=\\\"\)", "", value.pattern)
    rng = random.Random(value.name)
    made = (sample(f"(?i:{pattern})", rng) for _ in range(500))
    return next(
        text
        for text in made
        if entropy(text) >= value.least_entropy and looks_like_key(text) and sum(char.isdigit() for char in text) > 3
    )


FORMATS: dict[str, Rule] = {rule.name: rule for rule in (*TOKENS, *VALUES)}


@cache
def _form(name: str) -> tuple[str, str, str]:
    """The same for a public format, made when it is asked for."""
    rule = FORMATS[name]
    if rule in TOKENS:
        return "", _of_format(rule.pattern, rule.least_entropy, name), ""
    return f'{rule.anchors[0]}_credit = "', _of_vendor(rule), '"'


def _is_shown(secret: str, text: str) -> bool:
    """Whether an output of the stored text shows the secret."""
    clean = redact(f"see {text} there").text
    return secret in printable(clean) or secret in printable(without_escapes(clean))


def _of_middle(secret: str) -> int:
    """A place within what counts: formats that end in padding or begin with a name have it in the middle."""
    return len(secret) // 2


@each_row("name", OWN)
def test_one_of_each_class_in_the_middle_of_each_of_our_secrets_does_not_hide_it(name: str) -> None:
    before, secret, behind = OWN[name]
    assert not _is_shown(secret, f"{before}{secret}{behind}")
    for hidden in CLASSES:
        at = _of_middle(secret)
        text = f"{before}{secret[:at]}{hidden}{secret[at:]}{behind}"
        assert not _is_shown(secret, text), ascii(text)
        assert may_hold_secret(text)


@each_row("name", FORMATS)
def test_something_in_the_middle_of_a_public_format_does_not_hide_it(name: str) -> None:
    before, secret, behind = _form(name)
    at = _of_middle(secret)
    for hidden in ("\u200b", "\x01", "\x1b[31m"):
        assert not _is_shown(secret, f"{before}{secret[:at]}{hidden}{secret[at:]}{behind}"), ascii(hidden)


@pytest.mark.slow
def test_every_invisible_character_and_every_escape_in_the_middle_of_a_token_goes_with_it() -> None:
    _, secret, _ = OWN["github-token"]
    for hidden in (*IGNORABLE, *CONTROLS, *ESCAPES):
        clean = redact(f"see {secret[:20]}{hidden}{secret[20:]} there").text
        # Of a token in two, its beginning alone has a vendor's mark before a random run.
        assert clean in ("see GITHUB_TOKEN_REDACTED there", "see [REDACTED:vendor-token] there"), ascii(hidden)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OWN, *FORMATS])
def test_everything_that_hides_in_the_middle_of_every_secret(name: str) -> None:
    before, secret, behind = OWN.get(name) or _form(name)
    at = _of_middle(secret)
    everything = (*IGNORABLE, *CONTROLS, *ESCAPES)
    for first in range(0, len(everything), 100):  # a text for each would take an hour
        some = everything[first : first + 100]
        text = "\n\n".join(f"see {before}{secret[:at]}{hidden}{secret[at:]}{behind} there" for hidden in some)
        assert not _is_shown(secret, text), ascii(some)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OWN, *FORMATS])
def test_one_of_each_class_at_every_place_of_every_secret(name: str) -> None:
    before, secret, behind = OWN.get(name) or _form(name)
    whole = f"{before}{secret}{behind}"
    for hidden in CLASSES:
        for at in range(len(whole) + 1)[:: max(1, len(whole) // 120)]:
            assert not _is_shown(secret, f"{whole[:at]}{hidden}{whole[at:]}"), (at, ascii(hidden))


@each_row("hidden", ["\u200b", "\U000e0041", "\x01", "\ufe0f", "\x1b[1m"])
def test_something_between_all_characters_hides_nothing(hidden: str) -> None:
    for before, secret, behind in OWN.values():
        assert not _is_shown(secret, hidden.join(f"{before}{secret}{behind}"))


def test_a_colour_as_grep_prints_it_hides_no_name() -> None:
    text = f"config.py:3:\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K = '{_SECRET}'"
    assert redact(text).text == "config.py:3:password = 'REDACTED'"


def test_letters_of_full_width_and_of_mathematics_count_as_those_of_ascii() -> None:
    _, secret, _ = OWN["github-token"]
    wide = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
    bold = {ord("a") + at: 0x1D41A + at for at in range(26)} | {ord("A") + at: 0x1D400 + at for at in range(26)}
    for form in (wide, bold):
        assert redact(secret.translate(form)).text == "GITHUB_TOKEN_REDACTED"
        assert redact(f"{'password'.translate(form)}={_SECRET}").text == f"{'password'.translate(form)}=REDACTED"
        assert may_hold_secret(secret.translate(form))
    assert redact(f"パスワード password\uff1a{_SECRET}").text == "パスワード password\uff1aREDACTED"


def test_what_a_person_wrote_stays_but_for_escapes_and_secrets() -> None:
    family, persian, hindi = "👨\u200d👩\u200d👧", "می\u200cخواهم", "क्\u200dष"  # noqa: RUF001  it is Persian
    text = f"{family} \x1b[32m{persian}\x1b[0m pass\xadword {hindi}\x0c\u200b end \uff57ide ghp_{_made('gh', 36)}\u2060"
    assert redact(text).text == (
        f"{family} {persian} pass\xadword {hindi}\x0c\u200b end \uff57ide GITHUB_TOKEN_REDACTED\u2060"
    )


@given(
    st.lists(st.sampled_from([*ESCAPES, *CLASSES, "a", "\n", "password=", _SECRET, "é", "m", "[", "\\"]), max_size=12)
)
@settings(max_examples=examples(300))
def test_no_escape_is_left_and_a_second_look_changes_nothing(parts: list[str]) -> None:
    for mode in REDACTION_MODES:
        once = redact("".join(parts), mode).text
        assert not set(once) & set("\x1b\x90\x98\x9b\x9c\x9d\x9e\x9f")
        assert redact(once, mode).text == once


def test_an_escape_that_is_cut_off_takes_nothing_with_it() -> None:
    assert without_escapes("a\x1b[31") == "a[31" and without_escapes("a\x1b]8;;x\nb") == "a]8;;x\nb"
    assert without_escapes("a\x1bPq\nb") == "aPq\nb" and without_escapes("\x1b" * 3) == ""


@pytest.mark.slow
@each_row(
    "piece",
    ["\x1b", "\x1b[", "\x1b[0", "\x1b]", "\x1b]a", "\x1bP", "\x9b", "\x1b ", "\x90a", "\u200b", "é\u200b", "\uff41"],
)
def test_escapes_and_invisible_characters_take_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(redact(text, RedactionMode.BOTH).text) <= len(text)  # the run's own limit says the rest


def test_a_users_rule_and_allowed_value_see_the_view_and_the_text_itself() -> None:
    wide = UserRule("wide", LinearPattern("社員番号\uff1a[0-9]+", "a rule"), (), "[NUMBER]")
    acme = UserRule("acme", LinearPattern("ACME-[0-9]{4}", "a rule"), (), "[ACME]")
    mode = RedactionMode.PATTERN_ONLY.with_rules(UserRules((wide, acme), frozenset([_SECRET])))
    assert redact("社員番号\uff1a1234 ACME-\u200b1234", mode).text == "[NUMBER] [ACME]"
    assert (
        redact(f"password={_SECRET[:5]}\u200b{_SECRET[5:]}", mode).text == f"password={_SECRET[:5]}\u200b{_SECRET[5:]}"
    )


def test_all_of_our_rules_have_a_secret_here() -> None:
    ours = {rule.name for rule in RULES} - {"ssh-key", "private-key"}  # a key block, below
    assert ours <= OWN.keys()


def test_a_key_block_with_colours_and_invisible_characters_goes_whole() -> None:
    dashes = "-" * 5
    lines = [_made(str(number), 64) for number in range(4)]
    block = "\n".join([f"{dashes}BEGIN RSA PRIVATE KEY{dashes}", *lines, f"{dashes}END RSA PRIVATE KEY{dashes}"])
    for hidden in CLASSES:
        for at in (3, 14, 40, 120, len(block) - 12):
            clean = redact(block[:at] + hidden + block[at:]).text
            assert not any(line[8:40] in printable(clean) for line in lines), (at, ascii(hidden))
