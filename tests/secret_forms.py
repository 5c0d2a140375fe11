"""Forms in which secrets stand, with values that are made anew for each run: the test tries some, a benchmark many.

for form in FORMS:
    text, value = form.make("any seed")      # 'api_key="…"', and what is to be gone from it
"""

import base64
import random
import string
from collections.abc import Callable
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_LOWER_ALNUM = string.ascii_lowercase + string.digits
_URL_SAFE = _ALNUM + "_-"
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"

Make = Callable[[random.Random], str]


class Form(NamedTuple):
    """A text with a place for a value, how its values are made, and the group that it is counted in."""

    group: str
    name: str
    text: str
    value: Make

    def make(self, seed: str) -> tuple[str, str]:
        """A text and the value in it; the same for the same seed."""
        value = self.value(random.Random(f"{self.group} {self.name} {seed}"))
        return self.text.format(value), value


def letters(alphabet: str, length: int) -> Make:
    """So many letters of an alphabet."""
    return lambda rng: "".join(rng.choices(alphabet, k=length))


def _joined(*parts: str | Make) -> Make:
    return lambda rng: "".join(part if isinstance(part, str) else part(rng) for part in parts)


def _number(first: int, last: int) -> Make:
    return lambda rng: str(rng.randint(first, last))


def _uuid(rng: random.Random) -> str:
    digits = "".join(rng.choices(_HEX, k=32))
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _words(joint: str) -> Make:
    return lambda rng: joint.join(rng.choices(("correct", "horse", "battery", "staple", "tiger", "river"), k=4))


def _typed(signs: str, least: int = 10, most: int = 20) -> Make:
    """As people and their programs make passwords: letters of both cases, digits, and some of these signs."""

    def make(rng: random.Random) -> str:
        chars = [*rng.choices(_ALNUM, k=rng.randint(least, most)), rng.choice(string.digits), *rng.choices(signs, k=2)]
        rng.shuffle(chars)
        return rng.choice(string.ascii_letters) + "".join(chars) + rng.choice(_ALNUM)

    return make


def _machine_made(rng: random.Random) -> str:
    """One of three kinds of value: a key of letters and digits, a shorter password, one with signs."""
    kind = rng.randrange(3)
    if kind == 2:
        return _typed("!@#%^*_+=~", 8, 14)(rng)
    return "".join(rng.choices(_ALNUM, k=rng.choice((20, 24, 32)) if kind else rng.randint(11, 15))) + "7k"


# What teams had rules for: sixteen forms of what was stored, then the five and the rule of entropy of what was shown.
_PEM = "-" * 5 + "{} {}PRIVATE KEY" + "-" * 5
_TEAMS: tuple[tuple[str, Make], ...] = (
    ('api_key="{}"', letters(string.ascii_lowercase, 22)),
    ("apikey: {}", letters(_ALNUM, 24)),
    ("password={}", letters(string.ascii_lowercase, 8)),
    ("password: {}", letters(string.ascii_lowercase, 8)),
    ("passwd = '{}'", letters(string.ascii_lowercase, 8)),
    ('pwd="{}"', letters(_ALNUM, 8)),
    ("secret={}", letters(string.ascii_lowercase, 10)),
    ("secret: {}", letters(_ALNUM, 20)),
    ("token={}", letters(string.ascii_lowercase, 24)),
    ("token: {}", _joined(letters(_URL_SAFE + ".", 24), "7")),
    ("sk-" + "ant-{}", letters(_ALNUM, 24)),
    ("sk-{}", letters(_ALNUM, 24)),
    ("gh" + "p_{}", letters(_ALNUM, 36)),
    ("gh" + "o_{}", letters(_ALNUM, 36)),
    ("github" + "_pat_{}", letters(_ALNUM, 30)),
    ("AK" + "IA{}", letters(string.ascii_uppercase + string.digits, 16)),
    ("aws_secret_access_key={}", letters(_ALNUM + "/+", 40)),
    (_PEM.format("BEGIN", "RSA ") + "\n{}\n" + _PEM.format("END", "RSA "), letters(_ALNUM, 64)),
    (_PEM.format("BEGIN", "OPENSSH ") + "\n{}\n" + _PEM.format("END", "OPENSSH "), letters(_ALNUM, 64)),
    ("xox" + "b-{}", letters(_ALNUM, 20)),
    ("pk" + "_test_{}", letters(_ALNUM, 24)),
    ("sk" + "_live_{}", letters(_ALNUM, 24)),
    ("Authorization: Bearer {}", letters(_ALNUM, 24)),
    ('{{"bearer": "{}"}}', letters(_ALNUM, 24)),
    ('access_token="{}"', letters(_ALNUM, 24)),
    ("auth-token: {}", letters(_ALNUM, 24)),
    ("aws_access_key_id={}", letters(string.ascii_uppercase + string.digits, 20)),
    ("password {}", _joined(letters(_ALNUM, 8), "7!")),
    ('private_key = "{}"', letters(_ALNUM, 24)),
    ("mongodb://me:{}@h/db", letters(_ALNUM, 12)),
    ("use api_key {} for", letters(_ALNUM, 24)),
    ("deploy key is {}", letters(_ALNUM, 24)),
    ("DB_PASSWORD={}", _words("-")),
    ("spring.datasource.password={}", lambda rng: "_".join(rng.choices("abcde", k=3))),
    ("password={}", lambda _: "change" + "me"),
    # A labelled value goes to its end, with the braces and the quotes that a generator put into it.
    ("password = {}\n", _typed("{}()[]$#>!@%^*_-+=", 20, 30)),
    ('password = "{}"', _typed("{}()[]$#>!@%^*_-+='", 20, 30)),
    ("password: '{}'", _typed("{}()[]$#>!@%^*_-+=", 20, 30)),
    ('{{"password": "{}"}}', _typed("{}()[]$#>!@%^*_-+='", 20, 30)),
    ("DB_PASSWORD={}\n", _typed("{}()[]$#>!@%^*_-+=", 20, 30)),
)

# Current marks of vendors, as their documents and their consoles show them, bare in a sentence.
_VENDORS: tuple[tuple[str, Make], ...] = (
    ("Discord, bot", _joined(lambda rng: base64.b64encode(str(rng.randint(10**17, 10**18)).encode()).decode(), ".",
                             letters(_URL_SAFE, 6), ".", letters(_URL_SAFE, 38))),
    ("Discord, webhook", _joined("https://discord.com/api/webhooks/", _number(10**17, 10**18), "/",
                                 letters(_URL_SAFE, 68))),
    ("Telegram, bot", _joined(_number(10**8, 10**10 - 1), ":AA", letters(_URL_SAFE, 33))),
    ("Azure, event hub", _joined(letters(_ALNUM + "+/", 33), "+AEh", letters(_ALNUM + "+/", 6), "=")),
    ("Azure, search", _joined(letters(_ALNUM, 42), "AzSe", letters(_ALNUM, 6))),
    ("Azure, function", _joined(letters(_URL_SAFE, 44), "AzFu", letters(_URL_SAFE, 5), "Q==")),
    ("Azure, batch", _joined(letters(_ALNUM + "+/", 76), "+ABa", letters(_ALNUM + "+/", 5), "Q==")),
    ("Azure, annotated", _joined(letters(_ALNUM, 52), "JQQJ99", letters(_ALNUM, 28), "==")),
    ("Slack, session", _joined("xox" + "c-", _number(10**11, 10**12), "-", letters(_HEX, 64))),
    ("Upcloud", _joined("uc" + "at_", letters(_ALNUM, 26), "7k3m")),
    ("Docker Hub, personal", _joined("dckr" + "_pat_", letters(_URL_SAFE, 27))),
    ("Docker Hub, organisation", _joined("dckr" + "_oat_", letters(_URL_SAFE, 32))),
    ("Groq", _joined("gs" + "k_", letters(_ALNUM, 52))),
    ("xAI", _joined("xa" + "i-", letters(_ALNUM, 80))),
    ("Google, OAuth client secret", _joined("GOC" + "SPX-", letters(_URL_SAFE, 28))),
    ("Google, OAuth access token", _joined("ya" + "29.a0", letters(_URL_SAFE, 160))),
    ("Google, OAuth refresh token", _joined("1/" + "/0", letters(_ALNUM, 1), letters(_URL_SAFE, 60))),
    ("Google, API key", _joined("AI" + "za", letters(_URL_SAFE, 35))),
    ("Figma, personal", _joined("fig" + "d_", letters(_URL_SAFE, 40))),
    ("Figma, OAuth", _joined("fig" + "o_", letters(_ALNUM, 40))),
    ("Supabase, access token", _joined("sb" + "p_", letters(_HEX, 40))),
    ("Supabase, secret key", _joined("sb_" + "secret_", letters(_URL_SAFE, 31))),
    ("Netlify", _joined("nf" + "p_", letters(_ALNUM, 36))),
    ("Notion, new", _joined("nt" + "n_", _number(10**9, 10**11), letters(_ALNUM, 35))),
    ("Notion, old", _joined("sec" + "ret_", letters(_ALNUM, 43))),
    ("Heroku", _joined("HR" + "KU-", _uuid)),
    ("Heroku, new", _joined("HR" + "KU-AA", letters(_URL_SAFE, 58))),
    ("Stripe, webhook", _joined("wh" + "sec_", letters(_ALNUM, 32))),
    ("Stripe, restricted", _joined("rk" + "_live_", letters(_ALNUM, 99))),
    ("Cloudflare, user", _joined("cf" + "ut_", letters(_ALNUM, 48))),
    ("Cloudflare, account", _joined("cf" + "at_", letters(_ALNUM, 48))),
    ("Cloudflare, origin key", _joined("v1" + ".0-", letters(_HEX, 24), "-", letters(_HEX, 146))),
    ("Cloudflare, named", _joined("CLOUDFLARE_API_TOKEN=", letters(_URL_SAFE, 40))),
    ("Together", _joined("tg" + "p_v1_", letters(_URL_SAFE, 43))),
    ("Mailgun", _joined("ke" + "y-", letters(_HEX, 32))),
    ("Mailgun, new", _joined("MAILGUN_API_KEY=", letters(_HEX, 32), "-", letters(_HEX, 8), "-", letters(_HEX, 8))),
    ("Mailchimp", _joined(letters(_HEX, 32), "-us", _number(1, 21))),
    ("Atlassian, API token", _joined("ATA" + "TT3xFfGF0", letters(_URL_SAFE, 170), "=", letters(_HEX.upper(), 8))),
    ("Atlassian, scoped", _joined("ATC" + "TT3xFfGN0", letters(_URL_SAFE, 170), "=", letters(_HEX.upper(), 8))),
    ("Bitbucket, app password", _joined("AT" + "BB", letters(_ALNUM, 24), letters(_HEX.upper(), 8))),
    ("Bitbucket, data center", _joined("BB" + "DC-", _number(10**5, 10**6), letters(_ALNUM + "+/", 38))),
    ("Docker Swarm, join token", _joined("SWM" + "TKN-1-", letters(_LOWER_ALNUM, 50), "-", letters(_LOWER_ALNUM, 25))),
    ("Docker Swarm, unlock key", _joined("SWM" + "KEY-1-", letters(_ALNUM + "+/", 43))),
    ("NATS, user seed", _joined("SU" + "A", letters(_BASE32, 55))),
    ("NATS, account seed", _joined("SA" + "A", letters(_BASE32, 55))),
    ("NATS, operator seed", _joined("SO" + "A", letters(_BASE32, 55))),
    ("Replicate", _joined("r8" + "_", letters(_ALNUM, 37))),
    ("LangSmith, personal", _joined("lsv2" + "_pt_", letters(_HEX, 32), "_", letters(_HEX, 10))),
    ("LangSmith, service", _joined("lsv2" + "_sk_", letters(_HEX, 32), "_", letters(_HEX, 10))),
    ("Tailscale, auth key", _joined("tsk" + "ey-auth-k", letters(_ALNUM, 11), "CNTRL-", letters(_ALNUM, 32))),
    ("Tailscale, API key", _joined("tsk" + "ey-api-k", letters(_ALNUM, 11), "CNTRL-", letters(_ALNUM, 32))),
    ("PostHog, project", _joined("ph" + "c_", letters(_ALNUM, 43))),
    ("PostHog, personal", _joined("ph" + "x_", letters(_ALNUM, 43))),
    ("Anthropic", _joined("sk-" + "ant-api03-", letters(_URL_SAFE, 93), "AA")),
    ("OpenAI, project", _joined("sk-" + "proj-", letters(_URL_SAFE, 74), "T3Blbk" + "FJ", letters(_URL_SAFE, 74))),
    ("GitLab", _joined("gl" + "pat-", letters(_URL_SAFE, 20))),
    ("GitHub, fine-grained", _joined("github" + "_pat_", letters(_ALNUM, 22), "_", letters(_ALNUM, 59))),
    ("npm", _joined("np" + "m_", letters(_ALNUM, 36))),
    ("PyPI", _joined("pypi" + "-AgEIcHlwaS5vcmc", letters(_URL_SAFE, 150))),
    ("Hugging Face", _joined("h" + "f_", letters(string.ascii_letters, 34))),
    ("Slack, app", _joined("xa" + "pp-1-A", letters(_ALNUM.upper(), 10), "-", _number(10**12, 10**13 - 1), "-",
                           letters(_HEX, 64))),
    ("SendGrid", _joined("S" + "G.", letters(_URL_SAFE, 22), ".", letters(_URL_SAFE, 43))),
    ("Twilio", _joined("S" + "K", letters(_HEX, 32))),
    ("DigitalOcean", _joined("do" + "p_v1_", letters(_HEX, 64))),
    ("Vault, service", _joined("hv" + "s.", letters(_URL_SAFE, 95))),
    ("Linear", _joined("lin" + "_api_", letters(_ALNUM, 40))),
    ("Databricks", _joined("da" + "pi", letters(_HEX, 32))),
    ("Grafana", _joined("gl" + "sa_", letters(_ALNUM, 32), "_", letters(_HEX, 8))),
    ("Shopify", _joined("sh" + "pat_", letters(_HEX, 32))),
)  # fmt: skip

# Where a command, a query, a file or a sentence says what follows.
_CONTEXTS: tuple[tuple[str, Make], ...] = (
    ("CREATE USER a@b IDENTIFIED BY '{}';", _machine_made),
    ("ALTER USER 'r'@'l' IDENTIFIED WITH mysql_native_password BY '{}';", _machine_made),
    ("GRANT ALL ON *.* TO 'r'@'%' IDENTIFIED BY '{}' WITH GRANT OPTION;", _machine_made),
    ("CREATE ROLE a WITH LOGIN PASSWORD '{}'", _machine_made),
    ("ALTER USER postgres WITH PASSWORD '{}';", _machine_made),
    ("SET PASSWORD FOR 'me'@'localhost' = '{}';", _machine_made),
    ("ALTER LOGIN sa WITH PASSWORD = N'{}';", _machine_made),
    ('x = os.environ.get("X_PASSWORD") or "{}"', _machine_made),
    ('os.environ.get("DB_PASSWORD", "{}")', _machine_made),
    ('os.getenv("API_TOKEN") or "{}"', _machine_made),
    ('const t = process.env.API_TOKEN || "{}"', _machine_made),
    ('const t = process.env.API_TOKEN ?? "{}"', _machine_made),
    ("password = ENV['DB_PASSWORD'] || '{}'", _machine_made),
    ("ENV.fetch('DB_PASSWORD', '{}')", _machine_made),
    ('PASSWORD="${{PASSWORD:-{}}}"', letters(_ALNUM, 14)),
    ("user: admin pass: {}", _machine_made),
    ("user: admin, password: {}", _machine_made),
    ("login: me / pass: {}", _machine_made),
    ("ID: admin PW: {}", _machine_made),
    ("ID:admin PW:{}", _machine_made),
    ("New-User -Name x -Password '{}'", _machine_made),
    ("New-User -Name x -Password {}", letters(_ALNUM, 14)),
    ("ConvertTo-SecureString '{}' -AsPlainText -Force", _machine_made),
    ("ConvertTo-SecureString -String \"{}\" -AsPlainText -Force", _machine_made),
    ("redis-cli -h h -a {} ping", _machine_made),
    ("redis-cli -h h -a '{}' ping", _machine_made),
    ("net use Z: \\\\server\\share {} /user:me", _machine_made),
    ("net use Z: \\\\server\\share /user:me {}", _machine_made),
    ("smbclient //s/x -U me%{}", letters(_ALNUM, 14)),
    ("ldapsearch -D cn=x -w {} -b y", _machine_made),
    ("openssl enc -aes256 -k {}", _machine_made),
    ("unzip -P {} a.zip", _machine_made),
    ("mysql -u root -p{} shop", letters(_ALNUM, 14)),
    ("mysqldump --user=root --password={} shop", _machine_made),
    ("sshpass -p {} ssh me@host", letters(_ALNUM, 14)),
    ("sshpass -p '{}' ssh me@host", _machine_made),
    ("docker login -u me -p {}", letters(_ALNUM, 14)),
    ("curl -u me:{} https://h/x", letters(_ALNUM, 14)),
    ("curl -H 'X-Api-Key: {}' https://h/x", letters(_ALNUM, 24)),
    ("curl --user 'me:{}' https://h/x", _machine_made),
    ("wget --password={} https://h/x", letters(_ALNUM, 14)),
    ("PGPASSWORD={} psql -h h", letters(_ALNUM, 14)),
    ("root:$6$abcdefgh${}:19000:0:99999:7:::", letters(_ALNUM + "./", 86)),
    ("me:$y$j9T$abcdefgh${}:19000:0:99999:7:::", letters(_ALNUM + "./", 43)),
    ("me:$2b$12${}", letters(_ALNUM + "./", 53)),
    ("me:$apr1$abcdefgh${}", letters(_ALNUM + "./", 22)),
    ("[DEBUG] Using Key={}", letters(_ALNUM, 24)),
    ("Using Key={} for upload", letters(_ALNUM + "/+", 40)),
    ("<entry><name>password</name><value>{}</value></entry>", _machine_made),
    ("<password>{}</password>", _machine_made),
    ("<token>\n  {}\n</token>", _machine_made),
    ('<add key="ApiKey" value="{}" />', _machine_made),
    ('<property name="password" value="{}"/>', _machine_made),
    ('<server id="x" username="me" password="{}"/>', _machine_made),
    ('<add name="Db" connectionString="Server=s;User Id=sa;Password={};" />', letters(_ALNUM, 14)),
    ('#define PASSWORD "{}"', _machine_made),
    ("MYSQLPASS: {}", _machine_made),
    ("contraseña: {}", _machine_made),
    ("비밀번호: {}", _machine_made),
    ("pswd={}", _machine_made),
    ("token -> {}", letters(_ALNUM, 24)),
    ("| api key | {} |", letters(_ALNUM, 24)),
    ("next?a=1%26token%3D{}%26b=2", letters(_ALNUM, 24)),
    ("https://h/x?access_token={}&b=2", letters(_ALNUM, 24)),
    ("password=&quot;{}&quot;", letters(_ALNUM, 14)),
    ("machine h.example.org login me password {}", _machine_made),
    ("h.example.org:5432:shop:me:{}", letters(_ALNUM, 14)),
    ("//registry.example.org/:_authToken={}", letters(_ALNUM, 36)),
    ("Cookie: sessionid={}; theme=dark", letters(_LOWER_ALNUM, 32)),
    ("Authorization: Basic {}", lambda rng: base64.b64encode(f"me:{letters(_ALNUM, 14)(rng)}".encode()).decode()),
    ("Authorization: token {}", letters(_HEX, 40)),
    ("ftp://me:{}@h.example.org/x", letters(_ALNUM, 14)),
    ("redis://:{}@h:6379/0", letters(_ALNUM, 14)),
    ("jdbc:mysql://h/db?user=me&password={}", letters(_ALNUM, 14)),
    ("apiVersion: v1\nkind: Secret\ndata:\n  password: {}\n",
     lambda rng: base64.b64encode(letters(_ALNUM, 14)(rng).encode()).decode()),
)  # fmt: skip

FORMS: tuple[Form, ...] = (
    *(Form("teams", f"{number}: {text.format('…')[:40].strip()}".replace("\n", " "), text, make)
      for number, (text, make) in enumerate(_TEAMS)),
    *(Form("vendors", name, "the old one was {} and is gone", make) for name, make in _VENDORS),
    *(Form("contexts", text.format("…").replace("\n", " "), text, make) for text, make in _CONTEXTS),
)  # fmt: skip
