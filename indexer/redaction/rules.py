r"""The kinds of secret that are known by their form, as data: tried in this order, the first one names it.

    Rule("github-oauth", ("gho_",), r"gho_[A-Za-z0-9]{36,}+", "GITHUB_OAUTH_REDACTED")

The labels with brackets are those of the rules that teams had for what they show, the others of the rules
for what they store. The public formats follow them and are labelled with their names.

Every pattern is linear on any text. A repeat is either bounded, or possessive over one class of characters
with nothing behind it that could fail.
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.credential_formats import TOKENS
from ctxrank.indexer.redaction.credential_marks import MARKS
from ctxrank.indexer.redaction.guards import CODE, STAND_IN


class Rule(NamedTuple):
    """One kind of secret.

    `anchors` are lower case. The pattern is tried where one of them occurs, or `back` characters before it; it may
    look behind. The label takes the place of the match, but for the group `head`. A match counts if one of the words
    of `context` occurs in the `CONTEXT_REACH` characters before it, and if its entropy is not below the least. A long
    pattern is compiled only where its short `opening` matches at an anchor: prose has the word and nothing behind it.
    """

    name: str
    anchors: tuple[str, ...]
    pattern: str
    label: str
    back: int = 0
    least_entropy: float = 0.0
    context: tuple[str, ...] = ()
    opening: str = ""


CONTEXT_REACH = 400

# A token does not start inside a word; but `\n` may stand before it in JSON and in code.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
# Nor inside base64, where letters alone are its mark.
_STRICT_START = r"(?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))"

_NOT_A_SECRET = f"(?!{STAND_IN})"
_NOT_CODE = f"(?!{CODE})"
_QUOTE = r"(?:\\|\\{3}|\\{7})?[\"'`]"
_SEPARATOR = (
    rf"(?:{_QUOTE})?[ \t]{{0,8}}+(?::=|=>|={{1,3}}(?![=>~])|:(?![:=])|,(?=[ \t]?[\"']))"
    rf"[ \t]{{0,8}}+(?:[bru]?{_QUOTE})?+"
)

# A user and a password, but not a host and a port; the password is not ${X}, {x}, **** or %(x)s.
_USER = (
    r"(?!\[REDACTED)[^\s\"'`<>\\/:@]{0,128}+:(?!\d{1,5}[/?#,])(?!\$[{(]|\$(?-i:[A-Z_])|[{(\[]|%[({]|[*]{2}|redacted@)"
)
# user:password@host, as it is written to say how such a URL is made.
_PAIR = r"(?i:(?:user(?:name)?|usr|login|name|id|me|you)?:(?:p(?:ass(?:w(?:or)?d|phrase)?|wd?|at)|secret|token))"
_NO_USER = rf"(?!{_PAIR}@|[\w.-]{{1,64}}+:(?-i:PASSWORD|PASS|SECRET|TOKEN|[A-Z]{{2,20}}+_[A-Z_]{{2,40}}+)@)"
_URL_PASSWORD = r"[^\s\"'`<>\\/]{1,256}@"
_HOST = r"(?=[\w\[.%-])"
_SLASHES = r":(?:\\?/){2}"

# The body of a PEM block: never past the next row of five dashes, nor out of a string.
_PEM_BODY = r"[^-\"]{0,20000}+(?:-(?!----)[^-\"]{0,20000}+){0,200}+"
_PEM_LINES = r"(?:(?:\s|\\[nr]){0,4}+[a-z0-9+/=]{40,100}+){1,1000}+"


def _pem(name: str, kind: str, label: str) -> tuple[Rule, Rule]:
    """A key block, and one that was cut off before its end."""
    begin = rf"(?i)-----begin{kind}-----"
    end = r"(?:-----end[ a-z0-9_-]{0,60}key(?: block)?|(?<=key)|(?<=key block))-----"
    return (
        Rule(name, ("-----begin",), rf"{begin}{_PEM_BODY}{end}", label),
        Rule(name, ("-----begin",), rf"{begin}{_PEM_LINES}", label),
    )


_MIXED = r"(?=[^\s\"'`,;&]{0,60}?\d)"  # a key has a digit near its start, a word has none


def _ours(
    name: str, anchors: tuple[str, ...], pattern: str, context: tuple[str, ...] = (), back: int = 0, opening: str = ""
) -> Rule:
    """A rule of our own; its label says its name."""
    return Rule(name, anchors, pattern, f"[REDACTED:{name}]", back, context=context, opening=opening)


_AUTHORIZATION = rf"(?i)authorization{_SEPARATOR}"
# Secrets that a header, a command or a file shows by where they stand.
_PLACES: tuple[Rule, ...] = (
    _ours(
        "authorization-header",
        ("authorization",),
        rf"(?i)(?P<head>(?<![a-z])authorization{_SEPARATOR}(?:[a-z][\w-]{{1,20}}+[ \t]{{1,8}})?+)"
        rf"(?=[a-z0-9._~+/=@-]{{12}}){_MIXED}{_NOT_A_SECRET}{_NOT_CODE}[a-z0-9._~+/=@-]++",
        opening=_AUTHORIZATION,
    ),
    _ours(
        "curl-auth-header",
        tuple(f"{space}{flag}" for space in " \t\n\r" for flag in ("-h", "--header")),
        r"(?i)(?P<head>\s(?:-H|--header)[= \t]{0,5}+[\"']"
        r"(?:authorization|(?:x-(?:[a-z]{1,20}-)?)?(?:api-?)?(?:key|token)):[ \t]{0,5}+(?:[a-z-]{1,10}+[ \t])?+)"
        rf"{_NOT_A_SECRET}[\w=~@.+/-]{{8,}}+(?=[\"'])",
        ("curl",),
    ),
    _ours(
        "curl-auth-user",
        tuple(f"{space}{flag}" for space in " \t\n\r" for flag in ("-u", "--user")),
        # What closes a JSON string is no open quote, and no escape is cut in two.
        r"(?P<head>\s(?:-u|--user)[= \t]{1,5}(?:\\{0,3}[\"'])?)(?!\d{1,6}:\d{1,6}(?!\S)|\$[{(]?!?[A-Za-z_]|[{<])"
        rf"(?!{_PAIR}(?![\w@:.]))"
        r"(?:(?<=[\"'])(?![,:}\]\s])[^:\"'\\\n]{1,200}+:[^\"'\\\n]{1,200}+(?=\\{0,3}[\"'])"
        r"|(?<![\"'])[\w$@.-]{1,200}+:(?!/)[^\s\"'\\|;&]{1,200}+(?=[\s\"'\\|;&]|\Z))",
        ("curl", "http", "wget"),
    ),
    _ours(
        "cookie",
        ("sess", "sid=", "auth", "csrf", "remember", "token"),
        # Not the colon behind a JSON name that ends in `sid=`.
        r"(?i)(?P<head>(?:sess|sid|auth|csrf|remember|token)[\w.-]{0,30}+=\"?)(?!:)" + _MIXED + r"[\w%.+/=:~-]{16,}+",
        ("cookie",),
    ),
    _ours(
        "url-signature",
        ("sig=", "signature="),
        r"(?i)(?P<head>(?:(?<=[?&])|(?<=amz-)|(?<=goog-))sig(?:nature)?=)[\w%+/=-]{16,}+",
    ),
    _ours(
        "url-token",
        ("://",),
        r"(?P<head>://)(?=[\w-]{0,60}?\d)(?=[\w-]{0,60}?[A-Za-z])[\w-]{20,200}+(?=@[\w\[%-])",
    ),
    _ours(
        "chat-webhook",
        ("/api/webhooks/", "api.telegram.org/bot"),
        r"(?P<head>/api/webhooks/\d{15,20}/|api\.telegram\.org/bot)[\w:-]{35,}+",
    ),
    _ours(
        "netrc",
        ("machine ",),
        r"(?P<head>machine[ \t]{1,4}(?:[\w-]{1,60}+(?:\.[\w-]{1,60}+){1,6}+|localhost)\s{1,8}login[ \t]{1,4}\S{1,100}"
        rf"\s{{1,8}}password[ \t]{{1,4}}){_NOT_A_SECRET}[^\s\"'\\]{{4,}}+",
        opening=r"machine[ \t]{1,4}\S{1,500}\s{1,8}login",
    ),
    _ours(
        "pgpass",
        (":5432:",),
        rf"(?P<head>:5432:[\w*-]{{1,64}}+:[\w*-]{{1,64}}+:){_NOT_A_SECRET}[^\s:\"'\\]{{4,}}+",
    ),
    _ours(
        "password-flag",
        (" -p",),
        rf"(?P<head>[ ]-p[ ]'?)(?=[^\s\"'|;&\\-]){_NOT_A_SECRET}[^\s\"'|;&\\-][^\s\"'|;&\\]{{3,}}+",
        ("sshpass", "docker login", "podman login", "registry login", "psexec"),
    ),
    _ours(
        "password-flag",
        (" -p",),
        rf"(?P<head>[ ]-p'?)(?=[^\s\"'|;&\\-]){_NOT_A_SECRET}"
        r"(?!rint|ort|ath|roto|arallel)[^\s\"'|;&\\-][^\s\"'|;&\\]{3,}+",
        ("mysql", "mariadb", "sshpass"),
    ),
    # Options that are a password's with some commands only.
    *(
        _ours(
            "password-flag",
            (anchor,),
            rf"(?P<head>[ ]{flag}'?)(?=[^\s\"'|;&\\-]){_NOT_A_SECRET}[^\s\"'|;&\\-][^\s\"'|;&\\]{{3,}}+",
            commands,
        )
        for anchor, flag, commands in (
            (" -a ", "-a[ ]", ("redis-cli",)),
            (" -k ", "-k[ ]", ("openssl enc", "openssl aes", "openssl des")),
            (" -p", "-P[ ]", ("unzip",)),
            (" -w ", "-w[ ]", ("ldapsearch", "ldapadd", "ldapmodify", "ldappasswd", "ldapwhoami")),
            (" -u", r"-U[ ]?'?[\w./-]{1,60}%", ("smbclient", "rpcclient", "smbget", "winexe")),
            (" /user:", r"/user:[^\s\"']{1,100}+[ ]", ("net use",)),
        )
    ),
    _ours(
        "password-flag",
        ("net use",),
        r"(?i)(?P<head>net use[ ]{1,4}+(?:[a-z]:|\*)?+[ ]{0,4}+\\{2,4}+[^\s\"'\\]{1,20}+[^\s\"']{0,180}+[ ])"
        rf"{_NOT_A_SECRET}"
        r"[^\s\"'|;&\\/-][^\s\"'|;&\\]{3,100}+(?=[ ]{1,4}/user:)",
    ),
    _ours(
        "sql-password",
        ("identified ",),
        r"(?i)(?P<head>identified[ ]{1,3}(?:with[ ]{1,3}['\"`]?\w{1,40}['\"`]?[ ]{1,3})?(?:by|as)[ ]{1,3}"
        rf"(?:password[ ]{{1,3}})?(?:\\{{0,3}}(?P<quote>['\"]))?){_NOT_A_SECRET}"
        r"(?(quote)|(?=[^\s;]{0,60}?\d))[^\s'\"\\;]{4,}+",
        ("user", "grant", "role"),
        opening=r"(?i)identified[ ]{1,3}(?:with|by|as)",
    ),
    _ours(
        "sql-password",
        ("password for ",),
        r"(?i)(?P<head>set[ ]{1,3}password[ ]{1,3}for[ ]{1,3}[^\s=]{1,100}+[ ]{0,3}=[ ]{0,3}"
        rf"(?:(?:old_)?password[ ]?\()?\\{{0,3}}['\"]){_NOT_A_SECRET}[^\s'\"\\;]{{4,}}+",
        back=4,
    ),
    _ours(
        "secure-string",
        ("securestring",),
        r"(?i)(?P<head>securestring(?:[ ]{1,3}-(?:string|asplaintext|force)){0,3}[ ]{1,3}(?:\\{0,3}[\"'])?)"
        rf"(?![$(@-]){_NOT_A_SECRET}[^\s\"'\\)]{{4,}}+",
    ),
)

# The order is part of the meaning: of two rules that see the same text, the first one names it.
RULES: tuple[Rule, ...] = (
    Rule("anthropic-key", ("sk-",), _START + r"sk-ant-[A-Za-z0-9_-]{20,}+", "ANTHROPIC_KEY_REDACTED"),
    Rule(
        "openai-key",
        ("sk-",),
        # Not a row of words, as in a CSS class.
        _START + r"sk-(?!(?:[a-z]{1,15}+-){1,10}+[a-z]{0,15}+(?![A-Za-z0-9_-]))[A-Za-z0-9_-]{20,}+",
        "OPENAI_KEY_REDACTED",
    ),
    Rule(
        "github-token",
        ("ghp_", "ghs_", "ghu_", "ghr_"),
        _START + r"gh[psur]_[A-Za-z0-9]{36,}+",
        "GITHUB_TOKEN_REDACTED",
    ),
    Rule("github-oauth", ("gho_",), _START + r"gho_[A-Za-z0-9]{36,}+", "GITHUB_OAUTH_REDACTED"),
    Rule("github-pat", ("github_pat_",), _START + r"github_pat_\w{22,}+", "GITHUB_PAT_REDACTED"),
    Rule(
        "aws-access-key",
        ("akia", "asia"),
        _STRICT_START + r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])",
        "AWS_ACCESS_KEY_REDACTED",
    ),
    Rule(
        "aws-secret-key",
        ("aws_secret", "aws-secret", "awssecret"),
        rf"(?i)(?P<head>aws[_-]?secret[_-]?(?:access[_-]?)?key{_SEPARATOR})[a-z0-9/+=]{{40,}}+",
        "REDACTED",
    ),
    *_pem("ssh-key", " openssh private key", "SSH_KEY_REDACTED"),
    *_pem("private-key", r"(?:[ a-z0-9_]|-(?!-)){0,50}?private key(?: block)?", "PRIVATE_KEY_REDACTED"),
    Rule("slack-token", ("xox",), _START + r"xox[baprs]-[A-Za-z0-9-]{10,}+", "SLACK_TOKEN_REDACTED"),
    Rule("stripe-pk", ("pk_test_", "pk_live_"), _START + r"pk_(?:test|live)_[A-Za-z0-9]{10,}+", "STRIPE_PK_REDACTED"),
    Rule(
        "stripe-sk",
        ("sk_test_", "sk_live_", "rk_test_", "rk_live_"),
        _START + r"[sr]k_(?:test|live)_[A-Za-z0-9]{10,}+",
        "STRIPE_SK_REDACTED",
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i)(?P<head>authorization{_SEPARATOR}(?:bearer|basic|token)[ \t]{{1,8}})"
        rf"(?=[a-z0-9._~+/=-]{{10}}){_NOT_A_SECRET}{_NOT_CODE}[a-z0-9._~+/=-]++",
        "REDACTED",
        opening=_AUTHORIZATION,
    ),
    Rule(
        "database-url",
        ("mongodb", "postgres", "mysql", "redis", "amqp"),
        rf"(?i)(?P<head>(?:mongodb|postgres(?:ql)?|mysql|rediss?|amqps?)(?:\+[\w.-]{{1,20}})?{_SLASHES}){_NO_USER}{_USER}"
        rf"(?:{_URL_PASSWORD}{_HOST}|[^\s\"'`<>\\@]{{1,256}}@{_HOST})",
        "[REDACTED]@",
    ),
    Rule(
        "url-credentials",
        ("://", ":\\/\\/"),
        rf"(?i)(?P<head>{_SLASHES}){_NO_USER}{_USER}{_URL_PASSWORD}{_HOST}",
        "[REDACTED]@",
    ),
    Rule(
        "jwt",
        ("eyj",),
        r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{4,}+\.eyJ[\w-]{4,}+(?:\.[\w-]++){0,3}",
        "[JWT_REDACTED]",
    ),
    Rule(
        "bearer",
        ("bearer",),
        rf"(?i)(?P<head>bearer[ \t:=]{{1,8}}(?:{_QUOTE})?)(?=[a-z0-9._~+/=-]{{20}})"
        rf"{_NOT_A_SECRET}{_NOT_CODE}[a-z0-9._~+/=-]++",
        "[REDACTED]",
    ),
)

# What is known by a public format, and by its position: labelled with its name.
FORMAT_RULES: tuple[Rule, ...] = (
    *(
        Rule(
            token.id,
            tuple(token.anchors.split()),
            # Letters alone mark a token less well than letters and a sign do.
            (_STRICT_START if token.anchors.split()[0].isalnum() else _START) + token.pattern + r"(?![A-Za-z0-9_])",
            f"[REDACTED:{token.id}]",
            token.back,
            token.least_entropy,
            (),
        )
        for token in (*TOKENS, *MARKS)
    ),
    *_PLACES,
)
