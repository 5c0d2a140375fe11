"""A value is taken where a name says that it is secret, in whatever language or file that is."""

import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.ruleset import may_hold_secret

_LETTERS = string.ascii_letters + string.digits


def _fake(length: int) -> str:
    return "Q7" + "".join(random.Random(length).choices(_LETTERS, k=length - 2))


KEY = _fake(24)
WORD = "hunter" + "2" * 2


@each_row(
    "text, clean",
    [
        (f'settings["api_secret"] = "{KEY}"', 'settings["api_secret"] = "[REDACTED]"'),
        (f"const clientSecret: string = '{KEY}';", "const clientSecret: string = '[REDACTED]';"),
        (f'var dbPassword string = "{WORD}"', 'var dbPassword string = "[REDACTED]"'),
        (f'public string ApiKey {{ get; set; }} = "{KEY}";', 'public string ApiKey { get; set; } = "REDACTED";'),
        (f":smtp_pass => '{WORD}'", ":smtp_pass => '[REDACTED]'"),
        (f"export DB_PASS={WORD}", "export DB_PASS=[REDACTED]"),
        (f"<password>{WORD}</password>", "<password>REDACTED</password>"),
        (f'<add key="dbPassword" value="{WORD}" />', '<add key="dbPassword" value="[REDACTED]" />'),
        (f"X-Api-Key: {KEY}", "X-Api-Key: REDACTED"),
        (f"API key: {KEY}", "API key: [REDACTED]"),
        (f"tool --db-password {WORD} -v", "tool --db-password REDACTED -v"),
        (f"tool --access-token {KEY} -v", "tool --access-token REDACTED -v"),
        (f"GET /v1?page=2&access_token={KEY}&x=1", "GET /v1?page=2&access_token=[REDACTED]&x=1"),
        (f"AccountKey={KEY}==;EndpointSuffix=x", "AccountKey=[REDACTED];EndpointSuffix=x"),
        (f"Server=db;Pwd={WORD};Timeout=3", "Server=db;Pwd=REDACTED;Timeout=3"),
        (f"//registry.example/:_authToken={KEY}", "//registry.example/:_authToken=[REDACTED]"),
        (f"encryption_key: {KEY}", "encryption_key: [REDACTED]"),
        (f"PASSWORD_PROD = '{WORD}'", "PASSWORD_PROD = '[REDACTED]'"),
        (f"credentials: {KEY}", "credentials: [REDACTED]"),
        (f"Cookie: theme=dark; sessionid={KEY}; n=1", "Cookie: theme=dark; sessionid=[REDACTED:cookie]; n=1"),
        (f"Authorization: {KEY}", "Authorization: [REDACTED:authorization-header]"),
        (f"Proxy-Authorization: ApiKey {KEY}", "Proxy-Authorization: ApiKey [REDACTED:authorization-header]"),
        (f"https://h.example/b?sig={KEY}&x=1", "https://h.example/b?sig=[REDACTED:url-signature]&x=1"),
        (f"git clone https://{KEY}@h.example/r", "git clone https://[REDACTED:url-token]@h.example/r"),
        (f"machine h.example login me password {WORD}", "machine h.example login me password [REDACTED:netrc]"),
        (f"localhost:5432:shop:me:{WORD}", "localhost:5432:shop:me:[REDACTED:pgpass]"),
        (f"sshpass -p {WORD} ssh me@h", "sshpass -p [REDACTED:password-flag] ssh me@h"),
        (f"mysql -u me -p{WORD} shop", "mysql -u me -p[REDACTED:password-flag] shop"),
    ],
)
def test_the_value_goes_and_everything_around_it_stays(text: str, clean: str) -> None:
    assert redact(text).text == clean
    assert may_hold_secret(text)


@each_row(
    "text",
    [
        "token_url = 'https://h.example/oauth2/token1'",
        "password_file: /run/secrets/db_password1",
        "secretName: my-secret-2",
        "secret_id = user_id_2",
        "token_type=bearer1 tokens: 1234567890",
        "kms_key_id = 'alias/app'",
        '"AWS::MSK::BatchScramSecret": "ff2b807a577495b0"',
        '"arn:aws:secretsmanager:*:*:secret:app-config-2"',
        "access_key = config.access_key_v2",
        "api_key = 'api_key_1'",
        "auth_key = client2.get_key()",
        "password := readPassword()",
        "if token == other_token2:",
        "getattr(self, 'password', 'default')",
        "parser.add_argument('--password', '-p', help='The password')",
        'names = ("username", "password", "email")',
        "PASS: tests/test_parser2.py",
        "bypass=1 compass: north_2 passed=3",
        "use --password to set it, and --token with care",
        "session key: see section 3",
        "the API key: ask your administrator",
        "<password></password> <token>$TOKEN</token>",
        "private key file = ~/.ssh/id_ed25519",
        "password: monkey",
        'label: "Password", token: "Token"',
        "secret = yes, password = on, token = test",
        "password = your_password_here",
        "token: xxxxxxxxxxxxxxxxxxxxxxxx",
        "SERVER_AUTH = '1.3.6.1.5.5.7.3.1'",
        '<Input type="password"\n  :auto-complete="true" />',
        '<Label for="password" :value="$t(\'Password\')" />',
        'status: ok ? "pass" : "fail7",',
        'x = isSecret\n  ? "secrets"\n  : "variables2"',
        '"password": "Wachtwoord", "hide_secret": "Esconder"',
        "'password' => 'passord', 'token' => 'பாடல்'",
        'publicKeyToken="6595b64144ccf1df", PublicKeyToken=b77a5c561934e089',
        '"key": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Olb3zMAFFxXKHiIkQO5cJ3Yhl5i"',
        "hmac('', 'test_secret') => 'f7f9bd47fb987337b5796fdc1fdb9ba221d0d539'",
        "sign --key cosign.key reg.io/me/app@sha256:124e1fdee94fe5c5f902bc94da2d6e2f",
        "SigningKey   ed25519.PrivateKey",
        "const isSecret = !!envPair2.secret;",
        "Pass `/ignore:4217` to the linker",
        "SECP256K1_API secp256k1_context *create(",
        '.fa-user-secret:before{content:"\\f21b"}',
        "asttokens=2.4.1=pypi_0",
        "echo $$GITHUB_TOKEN | docker login ghcr.io --password-stdin",
        "BUNDLE_WITHOUT: db:job:cable:storage",
        "passphrase: this.certificate?.passphrase2,",
        "'current_password' => 'bail|required|current_password'",
        "postgresql://neondb_owner:xxxxxxxxxxxx@ep-adjective.aws.neon.tech",
        "http://proxy_username:proxy_password@proxy.com:8080",
        '":RSA:!ADH:!PSK:!RSAPSK:!DES-CBC3-SHA:!SRP"',
        'NGINX_GPGKEY="573BFD6B3D8FBC641079A6ABABF5BD827BD9BF62"',
        "pass `R2_W32_ZIP=/path/to.zip` to use your own",
        "url(:secret => @agent.options['secret'], reset_password_token: @token)",
        "PWD=@PWD@",
        'post "/hooks/:secret" => "web_requests#handle_request"',
        "    UserChangedPassword = 1001,\n",
        '$fa-var-user-secret: "\\f21b";',
        "if(e&&!j.matchAnyQueryToken)return!1;for(b=j.trie2,c=a.split();b;)",
        "requirepass server configuration option",
        "GOOGLE_ACCESS_TOKEN=ya29.a0AfH6SMC78...",
        "password: process.env.TEST_USER2_PASSWORD,",
        "password = google_oauth2_access_token",
        "'account_sid' => 'ACxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',",
        '"PW": "\\u041f\\u0430\\u043b\\u0430\\u0443", "password": "パスワード(確認)"',
        '<abbr title="one-time password">TOTP</abbr>',
        'autocomplete="current-password" [error]="error?.password2"',
        '"sk-ssh-ed25519-cert-v01@openssh.com"',
        "sk_X509_EXTENSION_num(exts)",
        'root ALL=(ALL) NOPASSWD: ALL/" >>/tmp/sudoers',
        "-ConfigFile a.config -Password $Env:Token",
        "\tPassword: b64Pwd,",
        "SIOCGLIFTOKEN                 = -0x3f879678",
        '"incorrect-password": "A jelszavak nem egyeznek"',
        "'password' => 'Palavra-passe'",
        'nipap-passwd = "nipap.nipap_passwd:run"',
        'auth = ["python-ldap==3.4.4"]',
        "array{name: string, password: ?string}",
        "name: db-postgresql-nyc1-55986",
        "pinned to 11, the token is `corretto@11`",
        "secret: '!SENDGRID_VALIDATION_SECRET!'",
        "octopush://USERLOGIN:APIKEY@default?from=FROM",
        "=~ https://([[:alnum:]_:]+)@github.com/(.*)$",
        'sub("https://x-access-token:#{GitHub::API.credentials}@github.com/")',
        "PPPIOCSPASS                      = 0x80107447",
        '{"go/token", "\\x04}\\x87\\x01@\\x02"},',
        '"key": "0xe8d7418a287548962a330cc94a8c1d1e7194d722eab7cf4a12d4d53c0f1297a3"',
        '"key": "Q-52ee0e33-980f-4a19-9821-39530de9f304-0"',
        "contract ERC1155TokenReceiver is ERC165, IERC1155TokenReceiver {",
        "string EncryptSecureString(SecureString secureString)",
        "use the format -secret key=value",
        "ChangePasswordRequest auth_user_change_password = 1103;",
        'req_auth = configurator(req_auth, "dns-rfc2136")',
        'PASS = "CERTBOT_PASS_ASSERT"',
        'private-key: "classpath:client2.key"',
        "http://xxxxx:xxxxx@proxy.example.com:8080",
        "-----BEGIN PRIVATE KEY-----\nYour private key here\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMOCK\n-----END PRIVATE KEY-----",
        "reset_password = Restablecer su clave\nold_password=Mevcut Parola",
        '<string name="password">Parol</string>',
        '"AddPassKey": "Passkey(通行鍵)を追加する"',
        'AddressSecretKey = "address"\nCACrtSecretKey = "ca.crt"',
        "class Entry(val password: CharArray?, val key: Key)",
        "url.password = this.#internals.password;",
        'password_key = "MY_KEY_${data.manager.generated_2.value}"',
        'test: valkey-cli --pass "$${REDIS_PASSWORD}" ping',
        'val usernameAndPassword = "$username:$password"',
        '{"password": "\'${ADMIN_PASSWORD}\'"}',
        "'@inquirer/password': 5.1.1(@types/node@26.1.2)",
        '"encryptionKey": "arn:aws:kms:eu-west-1:123456789012:key/12345678-1234-1234-1234-123456789012"',
        "* serviceKey: DemoService:1.0.0",
        "ssh -i SSH_KEY ec2-user@IP",
        "gpg_signing_key=348FFC4C",
        "--volume /etc/passwd:/etc/passwd:ro",
        'docker run -v "$PWD:/app:ro" node',
        "[coverage](https://codecov.io/gh/a/b/graph/badge.svg?token=FGUq4netA6)",
        "enode://d860a01f9722d78051619d1e2351aba3f43f943f6f00718d1b9baa4101932a1f@18.138.108.67:30303",
        ":param Ed25519PrivateKey|Ed25519PublicKey key:",
        "M365CredentialsError,\n    M365BrowserAuthNoTenantIDError,",
        "password: \"input[name='password']\"",
        '"pass": {"known"},',
        "curl -u $1:$2 https://example.org",
        "With the requirepass option PAPERLESS_REDIS",
        "login: AyushSinghal1794",
    ],
)
def test_names_of_other_things_code_and_stand_ins_stay(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize("escapes", [0, 1, 2])
def test_json_in_json_stays_json(escapes: int) -> None:
    text = json.dumps({"clientSecret": KEY, "api-key": KEY, "n": 1})
    for _ in range(escapes):
        text = json.dumps({"body": text})
    clean = redact(text).text
    assert KEY not in clean
    for _ in range(escapes):
        clean = json.loads(clean)["body"]
    assert json.loads(clean) == {"clientSecret": "[REDACTED]", "api-key": "REDACTED", "n": 1}


_NAMES = st.sampled_from(["api_key", "clientSecret", "DB_PASSWORD", "access-token", "signing_key", "token"])
_LINKS = st.sampled_from([" = ", "=", ": ", ":", " => ", '": "', "='", '"] = "', ">", '" value="', " "])
_ENDS = st.sampled_from(["", "'", '"', "\n", " ", ",", ";", "&", "</x>", "}", "\\n", "\\"])


@given(st.lists(st.tuples(_NAMES, _LINKS, st.sampled_from([KEY, WORD, "a.b", "$X", "é" * 9]), _ENDS), max_size=6))
def test_redacting_named_values_twice_changes_nothing_more(parts: list[tuple[str, str, str, str]]) -> None:
    once = redact("".join("".join(part) for part in parts))
    assert redact(once.text).text == once.text


# The short ones: a long word may hold a secret whatever stands around it.
_SHORT = st.sampled_from([
    WORD, "a1b2c3d4", "me:a1b2c", "xox" + "o-1-2-3-a", "machine ", "h.example login me ", "password ", "PASS", "pwd",
    "=", ": ", ":", "//", ":\\/\\/", "@h", "redis", "mysql ", "-p", "-p ", " ", "\n", "curl ", "-u ", "access", "api",
    "client", "authorization", "bearer ", "<", ">", "</", "'", '"', "--", ",", "(", "\u0130", "\u017f", "\u212a",
    "<private>", "</private>", "sshpass ", "docker login ", "_KEY", ":5432", "data:", "kind: secret", "credentials",
    "::", "token", "||", ", ", "a1b2c3d4e5",
])  # fmt: skip


@given(st.lists(_SHORT, max_size=12))
def test_what_a_rule_finds_was_thought_possible(parts: list[str]) -> None:
    text = "".join(parts)
    assert may_hold_secret(text) or redact(text).text == text


@each_row(
    "text",
    ["mysql -u me -p" + WORD, f"machine h.x login me password {WORD}", f"DB_PASS={WORD}", "x " + "xox" + "o-1-2-3-a"],
)
def test_a_short_secret_is_thought_possible(text: str) -> None:
    assert redact(text).text != text and may_hold_secret(text)


@pytest.mark.parametrize(
    "text", ["fix the token refresh", "why is the database locked?", "make the api faster, please"]
)
def test_a_plain_sentence_needs_no_rules(text: str) -> None:
    assert not may_hold_secret(text)


@each_row(
    "before, is_taken",
    [
        ("take the vendor KEY ", True),
        ("take the vendorKey ", True),
        ("take the vendor key ", False),
        ("take the vendor\tkey ", False),
        ("take the vendor\nkey ", False),
        ("key ", False),
    ],
)
def test_in_prose_a_word_names_a_secret_where_it_is_shouted_or_part_of_a_name(before: str, is_taken: bool) -> None:
    value = "".join(random.Random(0).choices(string.ascii_letters + string.digits, k=16))
    text = f"{before}{value} there"
    assert (redact(text).text != text) is is_taken
