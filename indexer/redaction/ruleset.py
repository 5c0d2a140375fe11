"""Which redaction rules there are, and how they are applied: what a query needs to know of them."""

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.text.lines import is_uuid

if TYPE_CHECKING:
    from typing import ClassVar

    # Only a configuration that has rules of its own loads what they are
    from ctxrank.indexer.redaction.user_rules import UserRules

# Grows by one when a rule changes what is found; a store redacts again what an older one let through.
RULESET_VERSION: int = 14


class RedactionMode:
    """How secrets are recognised: by known forms, by looking random where a value is expected, or by both.

    It carries the user's own rules, so that any code given a mode redacts by them, too. Two modes are equal that
    redact alike. An enum could carry nothing, so this is a value: it does not change, and compares by what it says.
    """

    __slots__ = ("rules", "value")

    if TYPE_CHECKING:
        PATTERN_ONLY: ClassVar["RedactionMode"]
        ENTROPY: ClassVar["RedactionMode"]
        BOTH: ClassVar["RedactionMode"]
        OFF: ClassVar["RedactionMode"]

    def __init__(self, value: str, rules: "UserRules | None" = None) -> None:
        self.value = value  # the mode's name, as the configuration has it
        self.rules = rules  # what the configuration adds, and what it allows

    @property
    def described(self) -> str:
        """The name, and a digest of the rules: equal where two modes redact alike, and fit to be stored."""
        digest = "" if self.rules is None else self.rules.digest()
        return f"{self.value} with rules {digest}" if digest else self.value

    @property
    def is_off(self) -> bool:
        """Whether every text is left as it is. Secrets that were purged go even where nothing else does."""
        return self.value == "off" and (self.rules is None or not self.rules.finds_purged)

    @property
    def sees_forms(self) -> bool:
        """Whether secrets are known by their form, or by a name before them."""
        return self.value in ("pattern_only", "both")

    @property
    def sees_randomness(self) -> bool:
        """Whether secrets are known by looking random."""
        return self.value in ("entropy", "both")

    def with_rules(self, rules: "UserRules | None") -> "RedactionMode":
        """The same mode with these rules instead of the ones it had."""
        return RedactionMode(self.value, rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RedactionMode) and (self.value, self.rules) == (other.value, other.rules)

    def __hash__(self) -> int:
        return hash((self.value, self.rules))

    def __repr__(self) -> str:
        return f"RedactionMode({self.value!r}{'' if self.rules is None else ', with rules'})"


RedactionMode.PATTERN_ONLY = RedactionMode("pattern_only")
RedactionMode.ENTROPY = RedactionMode("entropy")
RedactionMode.BOTH = RedactionMode("both")
RedactionMode.OFF = RedactionMode("off")
REDACTION_MODES = (RedactionMode.PATTERN_ONLY, RedactionMode.ENTROPY, RedactionMode.BOTH, RedactionMode.OFF)

# What is written near a secret of few characters. Every other secret is a word of many, which no sentence has.
_NEAR_SECRETS = tuple(
    (
        "pas pw psw pss secret token key private cred auth access api client bearer sql maria login curl wget http :/ "
        ":\\ ----- sid redis openssl ldap zip smb rpcclient winexe /user: identified mongo snmp psk psexec schtasks "
        "ipmi radius tacacs expect kennwort contrase senha "
        "пароль 密码 密碼 パスワード 비밀번호 패스워드 암호 비번"
    ).split()
)
_SIGNS = ("=", ":", '"', "'", "<", ">", "||", "--", "@", *"0123456789")
# Behind these any word is one: an option of a command, what is said to a server, a router's setting, a call.
_MARKS = (
    "<private>", "xox", "xapp-", " -p", " -a ", " -x ", " -c ", " -k ", " -n ", " -u", " -w ", "storepass ", "keypass ",
    "/rp ", "net user ", "add_user ", "change_password ", "authenticate_user ", "mysqladmin", "htpasswd", "dvc remote",
    "rclone config", "expdp", "impdp", "rman ", "auth plain", "auth login", "requirepass", "masterauth", " on >",
    "334 ", "| sudo", "enable password", "enable secret", "server key", "isakmp", "snmp-server", "bindpw", "rootpw",
    "in with ", "credentials are", "securestring", "pdo(", "connect(", "jwt.", "wifi.", "_salt", "]:", ":*:", 'eap "',
)  # fmt: skip
_SHORTEST_WORD = 14
# In prose, behind one of those names, a shorter one with capitals in it may be a secret.
_SHORTEST_VALUE = 8


def may_hold_secret(text: str, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> bool:
    """False only where no rule could find anything: spares a plain sentence the rules, and their import.

    A user's own rules may find anything anywhere.
    """
    if mode.is_off:
        return False
    if mode.rules is not None and (mode.rules.rules or mode.rules.finds_purged):
        return True
    if not (text.isascii() and text.isprintable()):
        from ctxrank.indexer.redaction.views import is_plain  # noqa: PLC0415  start-up: most tasks are one line of ASCII

        if not is_plain(text):
            return True
    # As the rules do it: a dotted capital I is an i to them.
    lower = text.lower() if text.isascii() else text.replace("\u0130", "I").lower()
    if max(map(len, text.split()), default=0) >= _SHORTEST_WORD:
        return not is_uuid(text)  # as runners name sessions: it is a secret behind a name alone
    if any(mark in lower for mark in _MARKS) or "AUTH " in text or "PASS " in text:
        return True
    if ("machine" in lower and "login" in lower) or (
        "username " in lower and ("password" in lower or "secret" in lower)
    ):
        return True
    return any(name in lower for name in _NEAR_SECRETS) and _may_hold_value(text)


def _may_hold_value(text: str) -> bool:
    """Whether something may be the value of a name: by a sign, a digit, or capitals within a word."""
    if any(sign in text for sign in _SIGNS) or (not text.isascii() and any(map(str.isdigit, text))):
        return True
    return any(len(word) >= _SHORTEST_VALUE and word[1:] != word[1:].lower() for word in text.split())
