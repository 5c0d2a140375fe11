"""What the redaction is compared with: the two rule sets that teams had, and the public formats one by one."""

import re
from collections.abc import Callable

from vectors import Format, entropy, secret_of

# The rules for what they showed, and for what they stored; facts of the predecessor, as its documents give them.
_SHOWN = (
    (r"(?i)(api[_-]?key|apikey|access[_-]?token|auth[_-]?token|bearer)[\"\s:=]+[\"']?([a-zA-Z0-9_\-]{20,})[\"']?",
     r"\1=[REDACTED]"),
    (r"(?i)(aws[_-]?(access|secret)[_-]?key[_-]?id?)[\"\s:=]+[\"']?([A-Z0-9]{16,})[\"']?", r"\1=[REDACTED]"),
    (r"(?i)(password|passwd|secret|private[_-]?key)[\"\s:=]+[\"']?([^\s\"'\n]{8,})[\"']?", r"\1=[REDACTED]"),
    (r"(?i)(mongodb|postgres|mysql|redis|amqp)://[^\s]+@", r"\1://[REDACTED]@"),
    (r"eyJ[a-zA-Z0-9_-]*\.eyJ[a-zA-Z0-9_-]*\.[a-zA-Z0-9_-]*", "[JWT_REDACTED]"),
)  # fmt: skip
_STORED = (
    (r"(?i)\b(api[_-]?key|apikey)\s*[=:]\s*[\"']?[a-zA-Z0-9_-]{20,}[\"']?", r"\1=REDACTED"),
    (r"(?i)\b(secret|password|passwd|pwd)\s*[=:]\s*[\"']?[^\s\"']+[\"']?", r"\1=REDACTED"),
    (r"(?i)\b(token)\s*[=:]\s*[\"']?[a-zA-Z0-9_.-]{20,}[\"']?", r"\1=REDACTED"),
    (r"\bsk-ant-[a-zA-Z0-9-]{20,}\b", "ANTHROPIC_KEY_REDACTED"),
    (r"\bsk-[a-zA-Z0-9-]{20,}\b", "OPENAI_KEY_REDACTED"),
    (r"\bghp_[a-zA-Z0-9]{36}\b", "GITHUB_TOKEN_REDACTED"),
    (r"\bgho_[a-zA-Z0-9]{36}\b", "GITHUB_OAUTH_REDACTED"),
    (r"\bgithub_pat_[a-zA-Z0-9_]{22,}\b", "GITHUB_PAT_REDACTED"),
    (r"\bAKIA[0-9A-Z]{16}\b", "AWS_ACCESS_KEY_REDACTED"),
    (r"(?i)\b(aws[_-]?secret[_-]?access[_-]?key)\s*[=:]\s*[\"']?[a-zA-Z0-9/+=]{40}[\"']?", r"\1=REDACTED"),
    (r"-----BEGIN (?:RSA |EC |DSA )?PRIVATE KEY-----[\s\S]*?-----END (?:RSA |EC |DSA )?PRIVATE KEY-----",
     "PRIVATE_KEY_REDACTED"),
    (r"-----BEGIN OPENSSH PRIVATE KEY-----[\s\S]*?-----END OPENSSH PRIVATE KEY-----", "SSH_KEY_REDACTED"),
    (r"\bxox[baprs]-[a-zA-Z0-9-]{10,}\b", "SLACK_TOKEN_REDACTED"),
    (r"\bpk_(test|live)_[a-zA-Z0-9]{10,}\b", "STRIPE_PK_REDACTED"),
    (r"\bsk_(test|live)_[a-zA-Z0-9]{10,}\b", "STRIPE_SK_REDACTED"),
    (r"(?i)\b(authorization):\s*bearer\s+[a-zA-Z0-9._-]{10,}", r"\1: Bearer REDACTED"),
)  # fmt: skip

Redactor = Callable[[str], str]


def shown_rules() -> Redactor:
    """The seed's five, for what is shown."""
    return _one_by_one(_SHOWN)


def stored_rules() -> Redactor:
    """The predecessor's sixteen, for what is stored."""
    return _one_by_one(_STORED)


def public_formats(formats: tuple[Format, ...]) -> Redactor:
    """Each format's own expression, where its keyword stands; the secret goes if it has enough entropy."""
    compiled = [(form, re.compile(form.pattern)) for form in formats]

    def redact(text: str) -> str:
        lower = text.lower()
        spans: set[tuple[int, int]] = set()
        for form, expression in compiled:
            if any(keyword in lower for keyword in form.keywords):
                for match in expression.finditer(text):
                    secret = secret_of(form, match)
                    if entropy(secret) >= form.entropy:
                        start = text.index(secret, match.start())
                        spans.add((start, start + len(secret)))
        for start, end in sorted(spans, reverse=True):
            text = f"{text[:start]}[REDACTED]{text[end:]}"
        return text

    return redact


def _one_by_one(rules: tuple[tuple[str, str], ...]) -> Redactor:
    compiled = [(re.compile(pattern), replacement) for pattern, replacement in rules]

    def redact(text: str) -> str:
        for pattern, replacement in compiled:
            text = pattern.sub(replacement, text)
        return text

    return redact
