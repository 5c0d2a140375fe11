"""Stack frames as runtimes print them: file, function, the line of code where it is shown, and whose code it is.

    frame_of('  File "/srv/app/pay.py", line 7, in charge')  ->  Frame("pay.py", "charge", "", is_ours=True)

Line numbers and folders are left out: they change while the error stays the same.
"""

import re

from ctxrank.indexer.light_typing import NamedTuple

_MAX_NAME = 120


class Frame(NamedTuple):
    """One call. `file` is without its folder; `is_ours` is false for what an interpreter or a package brings."""

    file: str
    function: str
    code: str = ""
    is_ours: bool = True

    @property
    def place(self) -> str:
        """File and function in one word; two frames of one place are the same step of the program."""
        return f"{self.file}:{self.function}"


_PYTHON = r'\s*File "([^"]+)", line \d+(?:, in (.+))?$'
_NODE = r"\s+at (?:async )?(?:(?P<function>[^()\n]+?) \()?(?P<file>(?:[A-Za-z]:)?[^():\n]+):\d+(?::\d+)?\)?$"
_JAVA = r"\s+at (?:[\w.$-]+/)?(?P<function>[\w.$<>]+)\((?P<file>[^():]+)(?::\d+)?\)"
_GO_FILE = r"\s+(?P<file>[^\s:]+\.go):\d+(?: \+0x[0-9a-f]+)?$"
_C = r"\s*#\d+\s+(?:0x[0-9a-f]+ in )?(?P<function>[\w:~<>]++).*?(?: at |\s)(?P<file>[\w./-]+\.\w+):\d+"
_RUBY_PHP = r"\s+(?:from |#\d+ )?(?P<file>[\w./-]+\.(?:rb|php))[:(]\d+\)?:?(?:in [`'](?P<function>[^`']+)')?"
_DOTNET = r"\s+at (?P<function>[\w.<>`\[\],+]+)\([^)]*\)(?: in (?P<file>.+):line \d+)?$"

# Each with what a line must hold; compiled when that first happens, because a cold start needs one or two of them.
_NOTATIONS = (
    ((" at ", "\tat "), _JAVA),
    ((" at ", "\tat "), _NODE),
    ((" at ", "\tat "), _DOTNET),
    ((".go:",), _GO_FILE),
    (("#",), _C),
    ((".rb", ".php"), _RUBY_PHP),
)

# Functions that have no name of their own.
NAMELESS = frozenset(
    (
        "",
        "<module>",
        "Object.<anonymous>",
        "<anonymous>",
        "Context.<anonymous>",
        "Suite.<anonymous>",
        "main.main",
        "<lambda>",
        "run",
        "next",
    )
)
# A function without a name is given the name of what it calls, or of where it is kept: "Object.value [as price]".
_CALLED_ON = r"(?:async )?(?:Object|Context|UserContext|Suite|Proxy|Module|Test)\.[^\s\[]*(?: \[as ([\w$]+)\])?$"
# A helper that asserts says as little of the place as the library it calls.
_ASSERTS = r"(?:^|[.:])_?(?:assert|expect)(?:_\w+|[A-Z]\w*|)$"
_DEFAULT_PACKAGE = 2  # parts of a Java package that name whose it is: com.example

# Whose code it is, by where it lies.
_FOREIGN_FILE = re.compile(
    r"(?:site|dist)-packages|[/\\]lib(?:64)?[/\\]python\d|PYTHON_LIB|^<(?!stdin|string)|node_modules|^node:|^internal/"
    r"|/rustc/|\.cargo/registry|/usr/local/go/|/pkg/mod/|/usr/(?:lib|include)|\.rustup|/gems/|/vendor/|Python\d+[/\\]lib",
    re.IGNORECASE,
)
_FOREIGN_FUNCTION = re.compile(
    r"^(?:java|javax|jdk|sun|com\.sun|kotlin|scala|org\.(?:junit|hamcrest|assertj|opentest4j|testng|mockito|codehaus"
    r"\.groovy\.runtime|gradle)|junit\.framework|com\.google\.common\.truth|System|Microsoft|Xunit|NUnit|FluentAssertions"
    r"|std|core|alloc|rust_begin_unwind|_start|__libc\w*|runtime|testing|github\.com/stretchr/testify)(?:[.:/]|$)"
)
# Their code calls, and is called by, that of others: theirs is the project only where nobody else's is in the trace.
_FRAMEWORK = r"^org\.(?:apache|springframework|hibernate|eclipse)\.|^io\.netty\.|^com\.google\."
_SURROUNDS = r"\.(?:maven\.surefire|catalina|coyote|tomcat|jetty|servlet|web\.filter|reflect)\."


def frame_of(line: str) -> Frame | None:
    """The frame in this line, in whatever runtime's notation; None if it is no frame."""
    if 'File "' in line and (match := re.match(_PYTHON, line)):
        return _frame(match[1], match[2] or "")
    for signs, pattern in _NOTATIONS:
        if any(sign in line for sign in signs) and (match := re.match(pattern, line)):
            named = match.groupdict()
            return _frame(named.get("file") or "", named.get("function") or "")
    return None


def frame_at(file: str, function: str) -> Frame:
    """The frame of a call that was printed in a notation of its own."""
    return _frame(file, function)


def called_above(line: str, frame: Frame, pattern: str) -> Frame:
    """The frame with its function, which some tools print on the line above."""
    match = re.match(pattern, line)
    if match is None:
        return frame
    return frame._replace(
        function=match[1].rpartition("/")[2][:_MAX_NAME],
        is_ours=frame.is_ours and match[1] != "panic" and _FOREIGN_FUNCTION.match(match[1]) is None,
    )


def _frame(file: str, function: str) -> Frame:
    is_foreign = _FOREIGN_FILE.search(file) is not None or _FOREIGN_FUNCTION.match(function) is not None
    if "." in function and (match := re.match(_CALLED_ON, function)) is not None:
        function = match[1] or ""
    return Frame(file_name(file), function.strip()[:_MAX_NAME], "", not is_foreign)


def file_name(path: str) -> str:
    """A path's last part."""
    name = re.split(r"[/\\]", path)[-1][:_MAX_NAME]
    return re.sub(r"0x[0-9a-f]+", "0x", name) if "0x" in name else name  # a module that was made in memory


def own_frames(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames of the project, outermost first, without helpers that assert; all of them where none is.

    In Java the trace says whose code is the project's: the package of the outermost call that no server makes.
    """
    own = tuple(frame for frame in frames if frame.is_ours) or frames
    own = tuple(frame for frame in own if not _asserts(frame)) or own
    root = next((_package(frame) for frame in own if not re.search(_SURROUNDS, frame.function) and _package(frame)), "")
    return tuple(frame for frame in own if _package(frame) == root) if root else own


def _asserts(frame: Frame) -> bool:
    return ("assert" in frame.function or "expect" in frame.function) and bool(re.search(_ASSERTS, frame.function))


def _package(frame: Frame) -> str:
    """The part of a Java function's package that says whose it is; '' where it is in none."""
    if not frame.file.endswith((".java", ".kt", ".scala")):
        return ""
    parts = frame.function.split(".")[:-2]
    kept = _DEFAULT_PACKAGE + (re.match(_FRAMEWORK, frame.function) is not None)
    return ".".join(parts[:kept])
