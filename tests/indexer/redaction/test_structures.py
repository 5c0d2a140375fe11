"""Secrets that a structure, a command or a dialogue shows: fields of one thing, columns, options, arguments."""

import random
import string

import pytest
from tables import each_row

from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.ruleset import may_hold_secret


def _made(seed: str, length: int) -> str:
    return "Xk4" + "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length)) + "7"


@each_row("form", [
    "- name: DB_PASSWORD\n  value: {}\n",
    '{{"name": "API_TOKEN", "value": "{}"}}',
    '{{"key": "access_token", "type": "text", "value": "{}"}}',
    "ParameterKey=DBPassword,ParameterValue={}",
    'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
    "DBPassword:\n  Type: String\n  NoEcho: true\n  Default: {}\n",
    "password:\n  {}\n",
    "api_key: >-\n  {}\nport: 80\n",
    'SECRET_KEY = (\n    "{}"\n)',
    'api_keys = ["{}", "b"]',
    "secrets:\n  - {}\n",
    '"tokens": {{"prod": "{}"}}',
    "name,password,email\nanna,{},anna@example.org\n",
    "name\tapi_key\nprod\t{}\n",
    "| service | token |\n| --- | --- |\n| ci | `{}` |\n",
    "INSERT INTO users (id, password, age) VALUES\n(1, '{}', 3);",
    "**Password:** {}",
    "Your temporary password is: {}",
    'const SECRET: &str = "{}";',
    "password <- \"{}\"",
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{}\nPrivate-MAC: 00",
])  # fmt: skip
def test_a_value_goes_that_the_structure_gives_to_a_name(form: str) -> None:
    value = _made("structure", 24)
    text = form.format(value)
    assert value not in redact(text).text
    assert may_hold_secret(text)


@each_row("form", [
    "mongosh h/db -u anna -p {}",
    "sqlcmd -S h -U sa -P '{}' -Q 'select 1'",
    "sqlplus scott/{}@orcl",
    "keytool -list -keystore a.jks -storepass {}",
    "openssl rsa -in k.pem -passin pass:{} -out o.pem",
    "htpasswd -bc /etc/.htpasswd anna {}",
    "echo 'root:{}' | sudo chpasswd",
    'echo "{}" | docker login h -u me --password-stdin',
    "rabbitmqctl add_user anna {}",
    "snmpwalk -v3 -u me -A {} -X other h",
    "docker run a \\\n  && mysql -u root \\\n  -p{} shop",
    "requirepass {}",
    "AUTH default {}",
    "a001 LOGIN anna@example.org {}",
    "USER anna\r\nPASS {}\r\n",
    "AUTH LOGIN\n334 VXNlcm5hbWU6\nYW5uYQ==\n334 UGFzc3dvcmQ6\n{}\n235 ok",
    'expect "Password:"\nsend "{}\\r"',
    "::add-mask::{}",
    "snmp-server community {} RO",
    ' anna : PSK "{}"',
    'mysqli_connect("localhost", "root", "{}", "shop");',
    "server.login('anna', '{}')",
    "h.example.org:5433:db:anna:{}",
    "redis://{}@h:6379/0",
    "private_key={}",
])  # fmt: skip
def test_a_value_goes_where_a_command_a_dialogue_or_a_call_takes_it(form: str) -> None:
    value = _made("command", 12)
    text = form.format(value)
    assert value not in redact(text).text
    assert may_hold_secret(text)


@each_row("text", [
    "Cache restored from key: linux-node-" + "0123456789abcdef" * 4,
    "Found a cache entry for key: Linux-pip-" + "fedcba9876543210" * 4,
    "gpg: key 0123456789ABCDEF: public key imported",
    "key: MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A" + "MIIBCgKCAQEA1x2y3z4",
    "token GHSA-9f2x-4cjq-mv37",
    "key: eJzLTS1KVkguKy0uBgAHYgKtAAAA12",
    "password='%.*s'",
    "\"'$password'\"",
    "curl --user admin:${WORKER_API_TOKEN} --data @- https://example.org/v1/publish",
    'curl -H "Authorization: Bearer $GH_TOKEN" "https://example.org/repos/a1/b2c3d4/actions"',
    "Pass `--cxxopt=-std=c++17` on the command line",
    "fun append(user: String?, encodedPassword: String?) {",
    "credentials = .x509(.pemFile(certificateChainPath: certPath, privateKeyPath: keyPath))",
    "password:\n  required\n",
    "    if password:\n        login_with_it\n",
    "user,password\nname,secret\n",
    "unzip -P {{password}} a.zip",
    "kind: Secret\ndata:\n  a.yaml: {{ tpl }}\n  name: alertmanager-{{ name }}\n",
    '{"MYSQL -p": [], "": []}',
    "arn:aws:secretsmanager:*:*:secret:app-config-2",
    "Found a cache entry for key v2-gradle-" + "0123456789" * 4,
    "gpg: using RSA key " + "0123456789ABCDEF" * 2,
    "ghapi() { curl --silent --user _:$GITHUB_TOKEN; }",
    'plug Parsers, pass: ["text/*"]',
    "'password' => ['letters' => 'one'],",
    "alias mcpsk='mcp -Dmaven.test.skip=true'",
    "secret: '%env(string:SECRET)%'",
    "password: $email-password",
    'password = System.fetch_env!("AUTH_PASSWORD")',
    "gen.schema superheroes password:string:redact",
    "TRUNCATED_PWD=${RELATIVE_PWD:$offset:$MAX}",
    "# Clusters can be identified by 'server', 'name', or both.",
    'features = ["Win32_Security_Authorization", "Win32_Storage_FileSystem"]',
    "//! Replaces per-token `Uuid::new_v4()`.",
    "https://h/x?id=3ACE:6441:9C0BC17:DFEED25:13465426",
])  # fmt: skip
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert redact(text).text == text


def test_the_url_behind_a_user_of_curl_stays() -> None:
    clean = redact("curl --user \"svc:token\" 'https://example.org/a1b2c3'").text
    assert clean.endswith(" 'https://example.org/a1b2c3'") and "svc:" not in clean


def test_a_word_and_a_number_is_a_password_as_the_second_argument_of_a_call() -> None:
    value = "tiger" + str(random.Random("call").randint(100, 999))
    assert redact(f'map.put("password", "{value}")').text == 'map.put("password", "REDACTED")'
    assert redact('map.put("password", "field")').text == 'map.put("password", "field")'


def test_each_row_of_a_column_goes_and_the_other_columns_stay() -> None:
    values = [_made(f"row {number}", 12) for number in range(3)]
    text = "name;password;age\n" + "".join(f"anna;{value};7\n" for value in values)
    assert redact(text).text == "name;password;age\n" + "anna;[REDACTED];7\n" * 3


@pytest.mark.parametrize("head", ["user,password\n", "a b, password\n", "f(user, password)\n"])
def test_a_heading_alone_says_nothing(head: str) -> None:
    assert redact(head).text == head
