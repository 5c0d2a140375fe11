"""Places in messages where a name or a type is written without quotes: found by the words around it, and quoted.

    with_quoted_slots("undefined: file")                  ->  "undefined: `file`"
    with_quoted_slots("count declared and not used")      ->  "`count` declared and not used"

Go, javac, PostgreSQL, shells and Node write names bare, and a bare name may be any word. Tools that quote are not
touched.
"""

import re

# A bare name, with a call's arguments; never an article, so that "class the" is no class.
_NAME = r"(?!(?:the|a|an|any|this|type)\b)[^\s'\"`:;,()]+(?:\([^()\n]*\))?"
# Possessive: its alternatives overlap, and trying all of them takes time without end.
_TYPE = (
    r"(?:\[[^\]\s]*\]|\*|&|map\[\w+\]|chan |func\([^()]*\)|struct\{\}|interface \{\}"
    r"|[\w.<>,\[\]{}])++"
)
_NOUN = (
    r"(?:symbol|method|class|constructor|variable|table|relation|database|schema|label|package|interface|enum|property|field"
    r"|role|host|service|container|image|requirement|named|step|job|target|task|goal|plugin|bean)"
)

# Each with words that a message must hold for the expression to be worth compiling; every named group is a slot.
_SLOTS: tuple[tuple[tuple[str, ...], str], ...] = (
    # The subject of a sentence.
    (
        ("not ", "declared", "undefined", "unbound", "used as", "cannot be", "private access"),
        rf"^(?P<a>{_NAME})(?=: (?:command )?not found\b|: unbound variable"
        r"| is not (?:a function|iterable|defined|a constructor|recognized| abstract and)"
        r"| declared (?:and|but) not used| redeclared | already declared| defined and not used| undefined\b"
        r"| used as value| cannot be (?:dereferenced|applied)| has private access)",
    ),
    (("declared and not used: ", "imported and not used: "), rf"(?:declared|imported) and not used: (?P<a>{_NAME})"),
    (("does not implement",), rf": (?P<a>{_NAME}) does not implement (?P<b>{_NAME})"
     rf"(?: \(missing method (?P<c>{_NAME}))?"),
    (("[: ",), rf"^\[: (?P<a>{_NAME})(?=: )"),
    # Go describes an operand in parentheses, and names types bare.
    (
        ("of type ", "of struct type ", "of interface type "),
        r"\((?:variable|constant|value|untyped \w+ (?:constant|value))(?: (?P<a>[^()\s]+))? of (?:\w+ )?type"
        r" (?P<b>[^()]*(?:\([^()]*\)[^()]*)*)\)",
    ),
    (
        ("cannot use ",),
        rf"^cannot use (?P<a>.+?)(?= \((?:variable|constant|value|untyped))|\bas (?P<b>{_TYPE})(?= value in)",
    ),
    (
        ("mismatched types", "(type "),
        rf"\bmismatched types (?P<a>{_TYPE}) and (?P<b>{_TYPE})|\(type (?P<c>{_TYPE}) has no",
    ),
    (
        ("invalid operation: ", "recursive type", "cannot infer "),
        rf"^invalid operation: (?P<a>.+?)(?= \()|\binvalid recursive type:? (?P<b>{_NAME})"
        rf"|\bcannot infer (?P<c>{_NAME})",
    ),
    # What is asked for and is not there.
    (
        ("call to", "argument to", "undefined:", "no such ", "No such ", "field or method"),
        r"\b(?:in (?:call|argument) to|value in argument to|undefined:"
        r"|[Nn]o such (?:table|column|function|module|service|image|container|host):|field or method)"
        rf" (?P<a>{_NAME})",
    ),
    # A noun of kind and the name after it, where the sentence goes on as it does after a name.
    (
        ("symbol", "method", "class", "constructor", "variable", "table", "relation", "database", "schema", "label",
         "package", "interface", "enum", "property", "field", "role", "host", "service", "container", "image",
         "requirement", "named", "step", "job", "target", "task", "goal", "plugin", "bean"),
        rf"\b{_NOUN} (?P<a>{_NAME})"
        r"(?= (?:is (?:already|public|not|private|defined|ambiguous|abstract)|in (?:class|method|interface"
        r"|package|module)|might|does not exist|cannot be|has (?:already|private|\d+)|was not|could not"
        r"|not found|failed)|[.;]?$|, )",
    ),
    (
        ("in method ", "in class ", "in constructor ", "in interface ", "in enum ", "in package ", "in function "),
        rf"\bin (?:method|class|constructor|interface|enum|package|function) (?P<a>{_NAME})",
    ),
    (
        ("suitable", "final variable", "requirement", "distribution", "unreported", "abstract method", "port ", "host",
         "access denied for", "private access in"),
        r"\b(?:no suitable (?:method|constructor) found for|final variable|satisfies the requirement"
        r"|distribution found for|unreported exception|abstract method|port|connect to host|resolve host:"
        r"|access denied for|private access in)"
        rf" (?P<a>{_NAME})",
    ),
    (
        ("cannot be converted to", "conversion from"),
        rf"\b(?P<a>{_NAME}) cannot be converted to (?P<b>.+)$|\bconversion from (?P<c>\S+) to (?P<d>\S+)",
    ),
    (
        ("function ", "operator does", "unexpected "),
        r"\bfunction (?P<a>[\w.]+\([^()]*\))|\boperator does not exist: (?P<b>.+)$"
        rf"|\bunexpected (?P<c>(?:name|keyword|literal) {_NAME})",
    ),
    (("(reading ", "(setting "), r"\((?:reading|setting) (?P<a>[^()]+)\)"),
)  # fmt: skip
_QUOTES = frozenset("`'\"\u2018\u2019\u201c\u201d")


def with_quoted_slots(message: str) -> str:
    """The message with the names in known places quoted."""
    for signs, pattern in _SLOTS:
        if not any(sign in message for sign in signs):
            continue
        spans = [
            span
            for match in re.finditer(pattern, message)
            for name in match.groupdict()
            if (span := match.span(name)) != (-1, -1) and not _QUOTES & set(message[span[0] : span[1]])
        ]
        for start, end in sorted(spans, reverse=True):
            message = f"{message[:start]}`{message[start:end]}`{message[end:]}"
    return message
