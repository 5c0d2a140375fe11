"""Each public format is seen and named. Vectors are made from the formats when a test runs, never stored."""

import base64
import json
import random
import re
import string

from matching import sample
from tables import each_row

from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.guards import entropy, looks_like_key
from ctxrank.indexer.redaction.rules import FORMAT_RULES, RULES, TOKENS, VALUES
from ctxrank.indexer.redaction.ruleset import may_hold_secret

_LETTERS = string.ascii_letters + string.digits

# Formats whose tokens one of the first rules sees, too; of two rules, the first one names what they see.
_NAMED_BY_OTHERS = {
    "anthropic-admin-api-key": "ANTHROPIC_KEY_REDACTED",
    "anthropic-api-key": "ANTHROPIC_KEY_REDACTED",
    "aws-access-token": "AWS_ACCESS_KEY_REDACTED",
    "github-app-token": "GITHUB_TOKEN_REDACTED",
    "github-fine-grained-pat": "GITHUB_PAT_REDACTED",
    "github-oauth": "GITHUB_OAUTH_REDACTED",
    "github-pat": "GITHUB_TOKEN_REDACTED",
    "github-refresh-token": "GITHUB_TOKEN_REDACTED",
    "openai-api-key": "OPENAI_KEY_REDACTED",
    "slack-bot-token": "SLACK_TOKEN_REDACTED",
    "slack-legacy-bot-token": "SLACK_TOKEN_REDACTED",
    "slack-legacy-token": "SLACK_TOKEN_REDACTED",
    "slack-legacy-workspace-token": "SLACK_TOKEN_REDACTED",
    "slack-user-token": "SLACK_TOKEN_REDACTED",
    "stripe-access-token": "STRIPE_SK_REDACTED",
}


def _label(format_id: str, text: str) -> str:
    """The label that stands in the text: the format's own, or the one that comes before it."""
    own = f"[REDACTED:{format_id}]"
    return own if own in text else _NAMED_BY_OTHERS.get(format_id, own)


def _sampled(pattern: str, least_entropy: float, seed: str) -> str:
    rng = random.Random(seed)
    for _ in range(500):
        text = sample(pattern, rng)
        if re.fullmatch(pattern, text) and entropy(text) >= least_entropy:
            return text
    raise AssertionError(f"no vector of {pattern}")


@each_row("number", range(len(TOKENS)))
@each_row("place", ["{}", "see {} there", '"{}"', "x={}&y", "a\\n{}\\nb", "url/x?k={}#a"])
def test_a_token_of_a_public_format_is_removed_and_named(number: int, place: str) -> None:
    token = TOKENS[number]
    secret = _sampled(token.pattern, token.least_entropy, token.name)
    head = re.match(token.pattern, secret)
    kept = head["head"] if head and "head" in head.re.groupindex else ""
    clean = redact(place.format(secret)).text
    assert secret[len(kept) :] not in clean and kept in clean
    assert _label(token.name, clean) in clean
    assert may_hold_secret(place.format(secret))


@each_row("number", range(len(VALUES)))
@each_row("place", ['{}_credit = "{}"', "{}: '{}'", "{}-x-y => `{}`"])
def test_a_value_behind_its_vendors_name_is_removed_and_named(number: int, place: str) -> None:
    value = VALUES[number]
    vendor = value.anchors[0]
    if value.name == "hashicorp-tf-password" and '"' not in place:
        return  # it asks for double quotes
    pattern = re.sub(r"\(\?<=.*?\)|\(\?=\\\"\)", "", value.pattern)
    rng = random.Random(value.name)
    secret = next(
        text
        for text in (sample(f"(?i:{pattern})", rng) for _ in range(500))
        if entropy(text) >= value.least_entropy and looks_like_key(text) and sum(c.isdigit() for c in text) > 3
    )
    text = place.format(vendor, secret)
    clean = redact(text).text
    assert secret not in clean and clean.startswith(vendor)
    assert may_hold_secret(text)
    label = re.search(r"REDACTED(?::([\w-]+))?", clean)
    # Where formats of a vendor overlap, the first one gives its name; `password_credit` is no vendor's alone.
    assert label and label[1] in {*(other.name for other in VALUES if vendor in other.anchors), None}
    assert label[1] or value.name in ("generic-api-key", "hashicorp-tf-password")


def test_a_storage_key_of_azure_is_found_by_each_of_its_marks() -> None:
    rng = random.Random("azure")
    for mark in ("+ASt", "ACDb", "AZCV"):
        key = f"{''.join(rng.choices(_LETTERS, k=76))}{mark}{''.join(rng.choices(_LETTERS, k=5))}A=="
        assert redact(f"keep {key}").text == "keep [REDACTED:azure-storage-key]"


def test_each_format_asks_its_least_entropy_of_its_tokens() -> None:
    least = {rule.name: rule.least_entropy for rule in FORMAT_RULES}
    assert {token.name: least[token.name] for token in TOKENS} == {token.name: token.least_entropy for token in TOKENS}
    assert sum(token.least_entropy >= 3 for token in TOKENS) > 20


def _random(length: int, letters: str = _LETTERS) -> str:
    return "Q7" + "".join(random.Random(length).choices(letters, k=length - 2))


_DASHES = "-" * 5
_PAIR = f"{_random(8)}:{_random(12)}"

# The formats that have no row, and what sees them.
_ELSEWHERE = {
    "generic-api-key": (f'my_secret_thing, "{_random(24)}"', "REDACTED:generic-api-key"),
    "hashicorp-tf-password": (f'administrator_login_password = "{_random(16)}"', "REDACTED"),
    "freemius-secret-key": (f"'secret_key' => 'sk_{_random(29)}'", "REDACTED"),
    "nuget-config-password": (f'<add key="ClearTextPassword" value="{_random(12)}" />', "REDACTED"),
    "sidekiq-sensitive-url": (f"https://{'a1' * 4}:{'b2' * 4}@gems.contribsys.com/", "REDACTED"),
    "private-key": (
        f"{_DASHES}BEGIN ED PRIVATE KEY{_DASHES}\n{_random(64)}\n{_DASHES}END ED PRIVATE KEY{_DASHES}",
        "PRIVATE_KEY_REDACTED",
    ),
    "curl-auth-header": (f"curl -X GET -H 'Key: {_random(20)}' https://h", "REDACTED"),
    "curl-auth-user": (f"curl -s -u {_PAIR} https://h", "REDACTED:curl-auth-user"),
    "kubernetes-secret-yaml": (
        f"kind: Secret\nmetadata:\n  name: a\ndata:\n  db: {base64.b64encode(_random(15).encode()).decode()}\n",
        "REDACTED:kubernetes-secret-yaml",
    ),
}


@each_row("format_id", _ELSEWHERE)
def test_a_format_without_a_row_is_seen_by_another_rule(format_id: str) -> None:
    text, label = _ELSEWHERE[format_id]
    clean = redact(text).text
    assert label in clean and may_hold_secret(text)
    assert not {word for word in re.findall(r"[\w+/]{8,}", text) if word.startswith("Q7")} & set(
        re.findall(r"[\w+/]{8,}", clean)
    )


def test_all_formats_are_accounted_for() -> None:
    ids = {token.name for token in TOKENS} | {value.name for value in VALUES} | set(_ELSEWHERE)
    assert len(ids - {"vendor-key"}) == 221  # and what is no format of theirs


def test_every_value_of_a_kubernetes_secret_goes_and_its_names_stay() -> None:
    one, two = (base64.b64encode(_random(size).encode()).decode() for size in (15, 30))
    text = f'apiVersion: v1\nkind: Secret\ndata:\n  user: {one}\n  db.pass: "{two}"\n  ca: |\n    {one}\ntype: Opaque\n'
    clean = redact(text).text
    assert one not in clean and two not in clean
    assert re.sub(r"\[REDACTED[^]]*\]", "*", clean) == (
        'apiVersion: v1\nkind: Secret\ndata:\n  user: *\n  db.pass: "*"\n  ca: |\n    *\ntype: Opaque\n'
    )


def test_a_config_map_is_no_secret() -> None:
    text = "kind: ConfigMap\ndata:\n  level: information\n  words: alphabetical\n"
    assert redact(text).text == text


@each_row(
    "text",
    [
        "linear-gradient, sentry, twitter: authentication",
        "jira: PROJ-1234 is asana: done, dropbox: internationalism",
        "datadog commit: " + "3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "sentry release sha = " + "3b18e512dba79e4c8300dd08aeb37f8e" * 2,
        "heroku is a platform; session 123e4567-e89b-12d3-a456-426614174000",
        "the path pattern is ok. s.replace(x) keys: they sketch a3-b4 5% 10|20",
        "sourcegraph finds 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "AKIA is a prefix, EAAA too; asia and eyes",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "docker run -u 1000:1000 image -p 8080:80 && mkdir -p build/out",
        "curl -u $USER:$PASSWORD https://h && curl --user ${A}:${B} https://h",
        "https://example.org:8080/a@b ssh://git@example.org/a/b.git",
        "machine learning login page password reset",
    ],
)
def test_what_only_looks_a_little_like_a_credential_stays(text: str) -> None:
    assert redact(text).text == text


def test_every_rule_has_anchors_in_lower_case_and_a_pattern_that_compiles() -> None:
    for rule in (*RULES, *FORMAT_RULES):
        assert rule.anchors and all(word == word.lower() for word in rule.anchors), rule.name
        assert re.compile(rule.pattern)


def test_a_dense_text_loses_all_its_secrets_and_stays_json() -> None:
    secrets = [_sampled(token.pattern, token.least_entropy, token.name) for token in TOKENS[:60]]
    clean = redact(json.dumps({"list": secrets, "text": "\n".join(secrets)})).text
    json.loads(clean)
    assert not any(secret in clean for secret in secrets if "/" not in secret[:40])


def test_what_a_manual_has_in_the_place_of_a_token_is_of_too_little_entropy() -> None:
    for dull in ("AKCp" + "x1" * 34 + "y", "sha256~" + "a" * 43, 'facebook_credit = "' + "a1" * 16 + '"'):
        assert redact(dull).text == dull
    for busy in ("AKCp" + _random(69), "sha256~" + _random(43), 'facebook_credit = "' + "0123456789abcdef" * 2 + '"'):
        assert "REDACTED:" in redact(busy).text


@each_row("mark", "npm_ hvs. nvapi- xai- lsv2_pt_ hcaik_ sess- tvly- crsr_ nbp_ xapp-1- glsa_ sbp_ phc_".split())
@each_row("place", ["401 for {}\n", 'new Client("{}");', "I pasted {} into the page."])
def test_a_known_mark_counts_with_a_random_run_of_any_length_and_not_with_a_name(mark: str, place: str) -> None:
    secret = mark + _sampled("[A-Z][a-z][0-9][A-Z]{4}[0-9]{3}[a-z]{5}[0-9][A-Z]{6}[0-9]", 3.3, mark)
    assert secret not in redact(place.format(secret)).text
    name = place.format(mark + "find_by_name_or_id_2")
    assert redact(name).text == name


def test_what_a_client_is_made_with_is_a_key_if_it_is_random() -> None:
    secret = _sampled("[A-Z][a-z][0-9][A-Z]{4}[0-9]{3}[a-z]{5}[0-9][A-Z]{6}[0-9]", 3.3, "client")
    assert redact(f'c = AcmeClient("{secret}")').text == 'c = AcmeClient("[REDACTED:call-argument]")'
    assert redact('c = AcmeClient("my-service-2")').text == 'c = AcmeClient("my-service-2")'


def test_lines_of_wordpress_filezilla_and_git_lose_their_values() -> None:
    salt = _sampled(r"[A-Z]{3}[&%(]{4}[a-z]{4}[0-9]{4} [>)|]{3}[a-z]{6}[0-9]{8}", 3, "salt")
    for name in ("AUTH_KEY", "SECURE_AUTH_SALT", "NONCE_KEY"):
        line = f"define('{name}',         '{salt}');"
        assert redact(line).text == line.replace(salt, "[REDACTED:call-argument]")
    assert redact("['API_AUTH_KEY', 'The auth token for an app']").rules == ()
    value = base64.b64encode(_random(18).encode()).decode()
    assert redact(f'<Pass encoding="base64">{value}</Pass>').text == '<Pass encoding="base64">[REDACTED]</Pass>'
    assert redact(f"https://ana@example.org:{value}@github.com").text == "https://[REDACTED]@github.com"
