"""Forms in which secrets stand, the values made when a test runs: what teams had rules for, and what commands take.

Of each form so many values in a hundred go; what a sentence, code or a digest says stays.
"""

import json
import random
import re
import string
from uuid import UUID

import pytest
from examples import examples
from matching import sample
from secret_forms import FORMS, Form, letters
from tables import each_row

from ctxrank.indexer.redaction.copies import find_copies, value_of
from ctxrank.indexer.redaction.engine import redact, secret_values
from ctxrank.indexer.redaction.guards import entropy, is_random, is_strong
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.key_pieces import find_key_pieces
from ctxrank.indexer.redaction.letters import reads_like_a_word
from ctxrank.indexer.redaction.named_values import ANCHORS
from ctxrank.indexer.redaction.rules import MARKS, PLACES, RULES
from ctxrank.indexer.redaction.ruleset import RedactionMode, may_hold_secret

_LEAST_SHARE = 0.95
_VALUES = {"teams": examples(200), "vendors": 40, "contexts": 40}
_PEM_HEAD = "-" * 5 + "BEGIN {}PRIVATE KEY" + "-" * 5


def _made(seed: str, length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return letters(alphabet, length)(random.Random(seed))


@pytest.mark.hypothesis  # a property whose values are a list: `make slow` tries all of them
@pytest.mark.parametrize("form", FORMS, ids=[f"{form.group} {form.name}" for form in FORMS])
def test_of_each_form_nearly_all_values_go(form: Form) -> None:
    values = [form.make(f"benchmark {number}") for number in range(_VALUES[form.group])]
    assert sum(value not in redact(text).text for text, value in values) >= _LEAST_SHARE * len(values)
    assert all(may_hold_secret(text) for text, _ in values)


def test_the_word_that_every_template_has_is_no_secret_in_prose_but_as_a_setting() -> None:
    assert redact("password=change" + "me").text == "password=REDACTED"
    assert redact("password: changeme").text == "password: changeme"


@each_row("word", [
    "required", "optional", "field", "hidden", "missing", "monkey", "string", "reset", "expired", "encrypted", "hashed",
    "plaintext", "authentication", "strength", "length", "manager", "prompt", "disabled",
])  # fmt: skip
def test_a_word_behind_password_and_a_colon_stays(word: str) -> None:
    for text in (f"password: {word}", f"password: {word}.", f"Password: {word} field", f"{{ password: {word} }}"):
        assert redact(text).text == text


@each_row(
    "form",
    [
        "CREATE USER a@b IDENTIFIED BY '{}';",
        "ALTER USER 'r'@'l' IDENTIFIED WITH mysql_native_password BY '{}';",
        "CREATE ROLE a WITH LOGIN PASSWORD '{}'",
        'x = os.environ.get("X_PASSWORD") or "{}"',
        'const t = process.env.API_TOKEN || "{}"',
        "user: admin pass: {}",
        "ID: admin PW: {}",
        "New-User -Name x -Password '{}'",
        "redis-cli -h h -a {} ping",
        "net use Z: share /user:me {}",
        "ConvertTo-SecureString '{}' -AsPlainText -Force",
        "smbclient //s/x -U me%{}",
        "ldapsearch -D cn=x -w {} -b y",
        "openssl enc -aes256 -k {}",
        "unzip -P {} a.zip",
        "[DEBUG] Using Key={}",
        "<entry><name>password</name><value>{}</value></entry>",
        "<token>\n  {}\n</token>",
        "#define PASSWORD \"{}\"",
        "MYSQLPASS: {}",
        "contraseña: {}",
        "비밀번호: {}",
        "pswd={}",
        "token -> {}",
        "| api key | {} |",
        "next?a=1%26token%3D{}%26b=2",
        "password=&quot;{}&quot;",
    ],
)  # fmt: skip
def test_a_value_goes_where_a_command_or_a_place_says_what_it_is(form: str) -> None:
    value = "Xk4" + _made("place", 13)
    text = form.format(value)
    clean = redact(text).text
    assert value not in clean and clean.startswith(form.partition("{}")[0])
    assert may_hold_secret(text)


_SPELT = "abcdef0123456789"


@each_row("text, clean", [
    ("acme-SECRET-{uuid}", "acme-SECRET-REDACTED"),
    ("acmeTOKEN-{hex}", "acmeTOKEN-[REDACTED]"),
    ("acme.key.{hex}", "acme.key.[REDACTED]"),
    ("acme KEY {hex}", "acme KEY [REDACTED]"),
    ("acme_key = {uuid}", "acme_key = [REDACTED]"),
    ("acme ACCESS {hex}", "acme ACCESS [REDACTED]"),
    ("acmePRIVATE={hex}", "acmePRIVATE=[REDACTED]"),
    ('ACME_PAT = "{random}"', 'ACME_PAT = "[REDACTED]"'),
    ("the secret {uuid} of it", "the secret REDACTED of it"),
    ("the key {hex} of it", "the key {hex} of it"),
    ("acme cache key {hex}", "acme cache key {hex}"),
    ("dist/api-token-{hex}.js", "dist/api-token-{hex}.js"),
    ("dist/auth-{hex} dist/api-{hex}", "dist/auth-{hex} dist/api-{hex}"),
    ("gcloud-auth-plugin_528.0.0-0_amd64.deb", "gcloud-auth-plugin_528.0.0-0_amd64.deb"),
    ("token.html@sha512:{hex}{hex}", "token.html@sha512:{hex}{hex}"),
    ("private final String a = access {hex}", "private final String a = access {hex}"),
])  # fmt: skip
def test_a_name_in_capitals_or_joined_to_another_needs_no_random_value(text: str, clean: str) -> None:
    values = {"hex": _SPELT * 2, "uuid": f"{_SPELT[6:14]}-e89b-12d3-a456-{_SPELT[4:]}", "random": _made("pat", 52)}
    assert redact(text.format(**values)).text == clean.format(**values)


def test_a_labelled_value_goes_to_its_end() -> None:
    value = "m{{h}o)" + "p${e]nob(xx>-_$#"
    assert redact(f"password = {value}\nnext").text == "password = REDACTED\nnext"
    assert redact(f'password = "{value}"').text == 'password = "REDACTED"'
    spaced = "Xk4! " + "mQz9 rT"
    assert redact(f"password = '{spaced}'").text == "password = 'REDACTED'"
    assert redact("password = 'Enter the 2nd one!'").text == "password = 'Enter the 2nd one!'"


def test_a_password_with_an_open_bracket_goes_to_its_end_and_a_call_stays() -> None:
    value = "Gw1i5(d4Ot94" + "ycx(Pjooyq7CwPGpOLxe"
    assert redact(f"password = {value}\nnext").text == "password = REDACTED\nnext"
    assert redact(f"DB_PASSWORD={value}, x").text == "DB_PASSWORD=[REDACTED], x"
    for code in ("password = base64_decode1(read_password2(user,", "password = e.Zk3(t9[Q2]),x=1", "password: f(x)[0]"):
        assert redact(code).text == code


def test_an_option_of_powershell_names_a_password_and_a_list_does_not() -> None:
    value = _made("option", 14)
    assert redact(f"New-User -Password {value} -Name x").text == "New-User -Password REDACTED -Name x"
    for prose in ("- password reset1", "-password <text>", "a non-secret value1"):
        assert redact(prose).text == prose


def test_what_jenkins_keeps_in_braces_goes_with_them() -> None:
    value = _made("jenkins", 32)
    assert redact(f"<secret>{{shop AQAA {value}}}</secret>").text == "<secret>REDACTED</secret>"


@each_row("text", [
    "s.noDeleteOnFetchRejection = true",
    "s.noDeleteOnFetchRejection",
    "if (s.base64EncodedStringValue1) {}",
    "// proto://username:password@hostname.com:user/repo",
    "// proto://:password@hostname.com:user/repo",
    '"pbkdf2-password": "1.2.1",',
    "cloud.google.com/go/auth v0.20.0 h1:" + "kXTssoVb4azsVDoUiF8KvxAqrsQcQtB53DcSgta74CA=",
    "JsonToken.java: md5-" + "d970915ec541c1569aa0957df691464d",
    "Author: XploitMonk0x01 <a@example.org>",
    "Bad activity token: android.os.BinderProxy@2bd79ce",
    "GIT_ASKPASS: 'echo',",
    'curl -u "${git_user}:${GITHUB_TOKEN}" "${url}"',
    'a.password===""?r.password=r.url.password:r.url.password=r.password',
    '{"key": "' + "44b78559bf1bcf56" + '", "title": "Locks"}',
    "cache key: " + "9e107d9d372bb6826bd81d3542a419d6",
    "ciod: LOGIN chdir(/home/me1/UMT2K/umt2k/ckpt_umt2k_src/TEST) failed",
    "token expired, author unknown, keyword missing, monkey business",
    "the index by index, ndex and syntax",
    "    @type password: L{bytes}",
    'dependencies = [("auth", "0011_update_proxy_permissions")]',
    "https://actionmailbox:PASSWORD@example.com/rails",
    "curl -u name:password --digest $URL",
    "integrity sha512-dBVuXR082gk3jsFp7Rd/LMy8iPLY0pw==\n\n\"@jridgewell/gen-mapping@^0.3.0\":",
    "integrity sha512-dBVuXR082gk3jsFp7Rd/LMy8iPLYsid==\n\n\"@rollup/rollup-arm64@4.61.1\":",
    '"input_token": "ExclusiveStartTableName",',
    "Authorization: Bearer deadbeef12346",
    'if header != "Bearer "+expectedAccessToken {',
    "          secret = $e.text().trim()",
    "varCredentialsPassword := _CredentialsPassword{}",
    "expectedPassword := Credentials{ID: x.NewUUID(), Type: typed}",
    'case"number":case"password":c=h.val();break',
    "should pass `bf16=is_bf16_supported()` instead of a value",
    "await expect(totpSecret).toMatch(/^[A-Z2-7]{32}$/)",
    'password: "#/components/schemas/updateLoginFlowWithPasswordMethod"',
    "docker build --secret id=npm_token,src=.npmrc .",
    "--image-pull-secret=ghcr-auth --verbose",
    'imagePullSecret: "registry1"',
    'Secret: "flux-system",',
    "https://h/x?page_size=1&page_token=" + "eyJvZmZzZXQiOiI5OSIsInYiOjJ9",
    '"postgres://postgres:%s@db:5432/example"',
    "-----BEGIN PRIVATE KEY-----\n    <client private key>\n    -----END PRIVATE KEY-----",
    'cluster_auth_base64 = "' + "LS0tLS1CRUdJTiB" + 'DRVJUSUZJQ0FURS0tLS0tCk1JSUM1ekNDQWMr"',
    '"authenticatorData": "' + "SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MBAAAACg" + '",',
    "authenticated using Poly1305-AES, and for authentication, Poly1305-AES",
    "so an AAL2 login would fail\n",
    'alpha2_key = "ISO3166-1-Alpha-2"',
    "https://api.example.org/actions/caches?key=libpq-manylinux-ppc64le-17.2-3.4.0",
    'expectedKey: "git.example.org.Taskfile.yml.' + '39d28c1ff36f973705ae188b991258bbabaffd6d",',
    "INSERT INTO a (b, credential_type_id) VALUES\n('x', '" + "35b60ecf-30f9-42d6-bf5d-47ad41148691" + "');",
    'token = "' + "xoxb-your-bot-token-here" + '"',
    "password = ::BCrypt::Engine.hash_secret(password, salt)",
    'fmt.Sprintf("redis://%s:%s@localhost:6379", user, password)',
    "  Idempotency-Key:\n  - " + "1ce9723e-8b3b-451d-a33e-bb46f49f509c" + "\n",
    "kind: Secret\ndata:\n---\nkind: Deployment\n",
    "kind: Secret\ndata:\n  ca.crt: " + "LS0tLS1CRUdJTiB" + "DRVJUSUZJQ0FURS0tLS0tCk1JSUZWakND\n",
    "  fetch_password = !(length(var.password) > 0)",
    "client_secret = data.aws_ssm_parameter.auth0_client_secret.value",
    "Using command net user to gather accounts",
    "const key = 'npm-foobar-d5ea0750'",
    "docs/controls#" + "pa-7-follow-just-enough-administration-least-privilege-principle",
])  # fmt: skip
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text).text == text


def test_every_copy_of_a_value_goes() -> None:
    value = "k9" + _made("copy", 18)
    text = f'token = \'{value}\' # {value}, and ({value}) again\n{{"note": "{value}"}}'
    clean = redact(text)
    assert value not in clean.text and clean.text.count("REDACTED") == 4
    assert redact(clean.text).text == clean.text


def test_the_password_of_a_url_goes_elsewhere_too() -> None:
    password = "p7" + _made("url", 10)
    clean = redact(f"postgres://me:{password}@db/x was refused: {password}\nuser me").text
    assert password not in clean and clean.endswith("user me")


@each_row("value", ["changeme", "monkey12", "password", "12345678", "aaaaaaaaaaaa1", "short1", "user_name_2"])
def test_what_many_things_are_called_is_no_value_to_look_for(value: str) -> None:
    assert value_of(value, "password") == ""
    assert redact(f'password = "{value}"; other = {value}').text.endswith(f"other = {value}")


def test_a_short_copy_is_a_word_and_a_long_one_may_stand_within_one() -> None:
    """Paper: `ab12cd34` in `xab12cd34` is another word; twenty characters are found anywhere."""
    short, long_one = "ab12" + "cd34", "ab12cd34" + "ef56gh78ij90"
    assert list(find_copies(f"{short} x{short} ({short})", [short])) == [(0, 8), (20, 28)]
    assert list(find_copies(f"x{long_one}y", [long_one])) == [(1, 21)]


def test_a_copy_behind_what_no_output_shows_goes_too() -> None:
    value = "k9" + _made("hidden", 18)
    hidden = f"{value[:5]}\u200b{value[5:]}"
    assert redact(f"token = '{value}' and {hidden}").text == "token = 'REDACTED' and REDACTED"


def test_what_one_field_shows_goes_from_the_others() -> None:
    value = "k9" + _made("field", 18)
    texts = IncomingTexts(RedactionMode.PATTERN_ONLY).of_record((f"api_key: {value}", f"the call with {value} failed"))
    assert texts.text(f"the call with {value} failed") == "the call with [REDACTED] failed"
    document = json.dumps({"note": f"see {value}", "config": {"client_secret": value}, "list": [f"a {value}"]})
    clean = json.loads(IncomingTexts(RedactionMode.PATTERN_ONLY).json(document, empty="null"))
    assert value not in json.dumps(clean) and clean["note"].startswith("see ")


def test_values_are_known_of_no_text_without_one_and_not_where_redaction_is_off() -> None:
    value = "k9" + _made("off", 18)
    assert secret_values(f"token={value}") == {value}
    assert secret_values(f"token={value}", RedactionMode.OFF) == frozenset()
    assert secret_values("nothing here") == frozenset()


@pytest.mark.slow
@each_row("number", range(len(MARKS)))
def test_a_token_with_a_mark_goes(number: int) -> None:
    mark = MARKS[number]
    rng = random.Random(mark.name)
    _, _, token_pattern = mark.pattern.partition(r"(?<=\\[nrt]))")
    pattern = re.sub(r"\(\?[!=].*?\)", "", token_pattern)  # what must, or must not, stand behind it
    made = (sample(pattern, rng) for _ in range(3000))
    token = next(one for one in made if re.fullmatch(pattern, one) and entropy(one) >= mark.least_entropy)
    if '(?=")' in mark.pattern:
        token += '"'
    for place in ("see {} there", "a\\n{}\\nb"):
        text = place.format(token)
        clean = redact(text).text
        assert token not in clean and clean != text
        assert may_hold_secret(text)


def test_a_key_in_pieces_loses_each_of_its_lines() -> None:
    lines = [_made(f"line {number}", 64) for number in range(3)]
    begin = _PEM_HEAD.format("")
    text = f'k = "{begin}\\n"\n' + "".join(f'  + "{line}\\n"\n' for line in lines) + '  + "end";'
    clean = redact(text).text
    assert not any(line in clean for line in lines)
    assert clean.startswith('k = "') and clean.endswith('+ "end";')
    commented = f"# {begin}\n" + "".join(f"# {line}\n" for line in lines)
    assert not any(line in redact(commented).text for line in lines)
    assert find_key_pieces("no key", []) == []
    listed = json.dumps([begin, *lines, "x"])
    assert json.loads(redact(listed).text)[-1] == "x" and not any(line in redact(listed).text for line in lines)


def test_letters_read_like_a_word_or_do_not() -> None:
    words = ["monkey", "required", "authentication", "getPasswordHash", "encrypted", "localhost"]
    assert all(map(reads_like_a_word, words))
    random_ones = [_made(f"r{number}", 8, string.ascii_lowercase) for number in range(1000)]
    assert sum(map(reads_like_a_word, random_ones)) < 80
    assert reads_like_a_word("é") and reads_like_a_word("a")


@each_row("value, strong", [
    ("Xk4!mQz9", True), ("dipPr10Gg!", True), ("a1b2c3d4", True), ("x=1", False), ("func(a1)=2", False),
    ("Python3", False), ("OAuth2Provider", False), ("short!1", False),
])  # fmt: skip
def test_a_strong_word_has_three_kinds_of_signs_or_is_random(value: str, strong: bool) -> None:
    assert is_strong(value) == strong


@each_row("value, is_one", [
    ("my_long_variable_name_2", False), ("123e4567-e89b-12d3-a456-426614174000", False), ("short1a", False),
    ("getUserByIdFromCache2", False), ("1234567890123456789", False),
])  # fmt: skip
def test_names_numbers_and_uuids_are_not_random(value: str, is_one: bool) -> None:
    assert is_random(value) == is_one
    assert is_random(_made("random", 24))


def test_what_may_hold_no_secret_has_none_behind_any_anchor() -> None:
    """A short word of letters alone is one behind an option or a setting, and one of mixed letters behind any name."""
    anchors = {anchor.rstrip() for rule in (*RULES, *PLACES) for anchor in rule.anchors} | set(ANCHORS)
    anchors |= {"net user u", "rabbitmqctl add_user u", "mysqladmin password", "username u password", "htpasswd -b u"}
    forms = (
        "{} {}",
        "{} is {}",
        "{} u@{}",
        "{} u,{}",
        "{} u/{}@db",
        "{} -p {}",
        "{} x -P {}",
        "{} -a {}",
        "{} -w {}",
        "{} -U u%{}",
    )
    for anchor in sorted(anchors):
        for form in forms:
            for word in ("qwzxkfjv", "aBcDeFgHij", "Xk4z"):
                for text in (form.format(anchor, word), form.format(anchor.upper(), word)):
                    assert may_hold_secret(text) or redact(text).text == text


def test_a_uuid_by_itself_is_no_secret_and_needs_no_rule_loaded() -> None:
    """Runners name sessions so; behind a name it is looked at."""
    for mode in (RedactionMode.PATTERN_ONLY, RedactionMode.BOTH):
        for number in range(50):
            name = str(UUID(int=random.Random(number).getrandbits(128), version=4))
            assert not may_hold_secret(name, mode) and redact(name, mode).rules == ()
            assert may_hold_secret(f"token={name}", mode)
