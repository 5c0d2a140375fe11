"""How tools write that something failed: one entry for each notation, ordered, the particular before the general.

An entry is tried only on lines that hold one of its `signs`, and its expression is compiled when that first happens:
compiling all of them would cost a cold start some thirty milliseconds. Named groups are what an expression may
find: message, type (of an exception), code, place (file:line), function.
"""

from ctxrank.indexer.light_typing import Literal, NamedTuple

Family = Literal["trace", "compiler", "test", "tool", "text"]
# What of the following lines belongs to the error: nothing, what is indented, what comes before an empty line …
Owns = Literal["nothing", "indented", "paragraph", "rust block", "same prefix", "E lines", "indented or empty", "stack"]

# How much a unit explains; the smallest leads.
CAUSE = 0  # an exception, a compiler's diagnostic, a failed assertion
TOOL = 1  # a tool that says what it could not do
CONSEQUENCE = 2  # a summary, or a parent that reports a child's failure
WARNING = 3
TEXT = 4  # a line that merely speaks of an error


class Notation(NamedTuple):
    """One way to write an error."""

    signs: tuple[str, ...]
    pattern: str
    family: Family
    tool: str
    rank: int
    why: str
    owns: Owns = "nothing"


_PLACE = r"(?P<place>(?:[A-Za-z]:)?[^\s:()\"'\[][^:()\"'\n]{0,300}?"
_ERROR = r"(?:[Ff]atal |[Ii]nternal (?:compiler )?|[Ss]yntax )?[Ee]rror"
_CODE = r"(?:\[(?P<code>[A-Za-z]+[\w:/@.-]*)\])?"
_FLAG = r"(?:\s+\[(?P<flag>[A-Za-z-][\w+=/.,-]+)\])?"
_FIRST = "a compiler's diagnostic, the first one leads"
_TYPE = r"(?P<type>(?:[A-Za-z_]\w*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Failure|Failed|Exit|Interrupt|Iteration))"
STRUCTURE = "a message in a structure"
_CANNOT = "a tool says what it could not do"

_CONSEQUENCES = (
    Notation(
        ("compilation", "erge failed"), r"(?P<message>BEGIN failed--compilation aborted.*|Execution of \S+ aborted.*"
        r"|Automatic merge failed.*)$", "tool", "", CONSEQUENCE, "a summary of failures elsewhere",
    ),
    Notation(
        ("abort", "could not", "uild", "ommand", "rocess", "Some errors", "For more", "recipe", "linker", "compile",
         "Compil", "Found", "errors generated", "error generated", "returned a non-zero", "test"),
        r"(?:\[?(?:error|ERROR|Error)\]?:? )?(?P<message>(?:aborting due to|could not compile|[Bb]uild failed"
        r"|BUILD FAIL|Command failed|Process completed with exit|Some errors have|For more information about this error"
        r"|process didn't exit successfully|recipe for target|linker command failed|linking with .* failed"
        r"|Failed to compile|Found \d+ error|\d+ errors? generated|Compilation failed|test failed, to rerun"
        r"|command .{0,200}(?:failed|exit status)|.{0,200}returned a non-zero code).*)$",
        "tool", "", CONSEQUENCE, "a summary of failures elsewhere",
    ),
    Notation(
        ("*** ",),
        r"(?:g?make(?:\[\d+\])?|" + _PLACE + r":\d+)): \*\*\* (?P<message>No rule to make target .*|missing separator.*"
        r"|multiple target patterns.*|[Cc]ommands commence .*|recipe commences .*|.*without .*|.*extraneous .*)$",
        "tool", "make", TOOL, "make cannot use its file",
    ),
    Notation(
        ("make", "ninja"), r"(?:g?make(?:\[\d+\])?|ninja): (?P<message>\*\*\* .*|build stopped.*)$",
        "tool", "make", CONSEQUENCE, "make reports a command that failed",
    ),
    Notation(
        ("npm ",),
        r"npm (?:ERR!|error)(?: (?:errno|syscall|path|cwd|dest|file|command|A complete log|Log files|\s*/).*|\s*)$"
        r"()(?P<message>)", "tool", "npm", CONSEQUENCE, "a fact of npm's report",
    ),
    Notation(
        ("FAILED ", "ERROR "), r"(?:FAILED|ERROR) (?P<place>\S+?\.py)(?:::(?P<function>\S+))?"
        r"(?: - (?:" + _TYPE + r":? ?)?(?P<message>.*))?$",
        "test", "pytest", CONSEQUENCE, "a line of pytest's summary",
    ),
    Notation(
        (".py:",), _PLACE + r"\.py:\d+): (?P<type>[A-Z]\w+)$()(?P<message>)",
        "test", "pytest", CONSEQUENCE, "where a test failed",
    ),
)  # fmt: skip

_COMPILERS = (
    Notation(
        ("error",), r"error" + _CODE + r": (?P<message>.*)$", "compiler", "rust", CAUSE, _FIRST, "rust block",
    ),
    Notation(
        ("rror",), _PLACE + r"\(\d+(?:,\d+){0,3}\)) ?: " + _ERROR + r" ?(?P<code>[A-Z]{1,6}\d{3,5})?: (?P<message>.*)$",
        "compiler", "tsc", CAUSE, _FIRST, "indented",
    ),
    Notation(
        (" - error",),
        r"\s*" + _PLACE + r":\d+:\d+) - error(?: (?P<code>TS\d+))?: (?P<message>.*?)"
        r"(?: \((?P<flag>[a-z]+[A-Z]\w+)\))?$",
        "compiler", "tsc", CAUSE, _FIRST, "indented",
    ),
    Notation(
        (".java:",),
        r"(?:\[ERROR\] )?" + _PLACE + r"\.java:(?:\[\d+,\d+\]|\d+))(?::? error:|(?<=\])) (?P<message>\S.*)$",
        "compiler", "javac", CAUSE, _FIRST, "indented",
    ),
    Notation(
        (".go:",), _PLACE + r"\.go:\d+(?::\d+)?): (?P<message>\S.*)$", "compiler", "go", CAUSE, _FIRST, "indented",
    ),
    Notation(
        ("rror",), _PLACE + r":\d+(?::\d+)?(?:-\d+(?::\d+)?)?):? " + _ERROR + r"(?:" + _CODE
        + r"|:? (?P<code2>[A-Z]{1,6}\d{2,5})): (?P<message>.*?)" + _FLAG + r"$",
        "compiler", "cc", CAUSE, _FIRST, "indented",
    ),
    Notation(
        (":",),
        _PLACE + r":\d+(?::\d+)?):? (?P<code>[A-Z]{1,4}\d{3,5})(?:/[\w-]+)*(?: \[\*\])?:? "
        r"(?:(?:error|warning|info|style): )?(?P<message>.*)$",
        "compiler", "lint", CAUSE, "a linter's finding, the first one leads", "indented",
    ),
    Notation(
        (" ",), r"\s*(?P<code>[A-Z]{1,4}\d{3,4}):? (?:\[\*\] )?(?P<message>\S.*)$",
        "compiler", "lint", CAUSE, "a linter's finding, the first one leads", "rust block",
    ),
    Notation(
        ("^--",), r"\s*\^-+ (?P<code>[A-Z]{1,4}\d{3,5})(?: \(\w+\))?: (?P<message>\S.*)$",
        "compiler", "lint", CAUSE, "a linter's finding, the first one leads",
    ),
    Notation(
        ("  error  ", "\u2716  ", "\u2718  "),
        r"\s+\d+:\d+\s+(?:error|\u2716|\u2718)\s+(?P<message>.*?)(?:\s{2,}(?P<code>[@\w/-]+))?$",
        "compiler", "eslint", CAUSE, "a linter's finding, the first one leads",
    ),
    Notation(
        ("undefined reference", "multiple definition", "cannot find -l"),
        r"(?:(?P<place>\S+): )?(?:\S+: )?(?:in function .*?: ?)?(?P<message>undefined reference to .*"
        r"|multiple definition of .*"
        r"|cannot find -l.*)$", "compiler", "ld", CAUSE, "the linker's message",
    ),
)  # fmt: skip

_PROGRAMS = (
    Notation(
        ("E  ",), r"E   +(?!\[ *\d+%\]$)(?:" + _TYPE + r": )?(?P<message>\S.*)$",
        "test", "pytest", CAUSE, "what pytest found wrong", "E lines",
    ),
    Notation(
        ("panicked at '",),
        r"thread '(?P<function>[^']*)' (?:\(\d+\) )?panicked at '(?P<message>.*)', (?P<place>\S+:\d+:\d+)$",
        "trace", "rust", CAUSE, "a panic", "indented",
    ),
    Notation(
        ("panicked at ",),
        r"thread '(?P<function>[^']*)' (?:\(\d+\) )?panicked at (?P<place>\S+:\d+:\d+):$()(?P<message>)",
        "trace", "rust", CAUSE, "a panic", "paragraph",
    ),
    Notation(("panic: ",), r"panic: (?P<message>.*)$", "trace", "go", CAUSE, "a panic", "stack"),
    Notation(
        ("fatal error: ",), r"fatal error: (?P<message>.*)$", "trace", "go", CAUSE, "a runtime's last words", "stack"
    ),
    Notation(
        (": ",), r"(?:Uncaught |Unhandled |\w+: )?" + _TYPE + r"(?: \[(?P<code>\w+)\])?: (?P<message>.*)$",
        "trace", "", CAUSE, "an exception",
    ),
    Notation(
        ("fault", "Abort", "Bus error", "Illegal instr", "Floating point", "Killed"),
        r"(?:.*: line \d+:\s+\d+ )?(?P<message>(?:Segmentation fault|Aborted|Bus error|Illegal instruction"
        r"|Floating point exception|Killed)(?=$|\s*\(|[.:!]))", "tool", "shell", CAUSE, "a signal ended the program",
    ),
    Notation(
        ("--- FAIL",), r"\s*--- FAIL: (?P<message>(?P<function>\S+)).*$",
        "test", "go", CAUSE, "a failed test", "indented",
    ),
    Notation(
        ("FAIL", "✕", "✗", "×", "●", "not ok"),
        r"\s*(?:FAIL(?:ED|URE)?:?|✕|✗|×|●|not ok \d+ -?)\s+(?P<message>.*)$",
        "test", "", CONSEQUENCE, "the name of a test that failed",
    ),
)  # fmt: skip

_TOOLS = (
    Notation(
        ("npm ",), r"npm (?:ERR!|error) (?:code (?P<code>[A-Z]\w+)$)?(?P<message>.*)$",
        "tool", "npm", TOOL, _CANNOT, "same prefix",
    ),
    Notation(
        ("ERROR ", "Error: "), r"ERROR (?P<code>\d{4} \([0-9A-Z]{5}\))(?: at line \d+)?: (?P<message>.*)$",
        "tool", "sql", TOOL, "the database's message",
    ),
    Notation(
        ("ERROR:  ",), r"(?:psql:\S+ )?.{0,60}?ERROR:  (?:(?P<code>[0-9A-Z]{5}): )?(?P<message>.*)$",
        "tool", "sql", TOOL, "the database's message", "paragraph",
    ),
    Notation(
        ("ORA-", "PLS-", "SQL", "SP2-"), r"(?P<code>(?:ORA-|PLS-|SQL|SP2-)\d{4,5}[A-Z]?): (?P<message>.*)$",
        "tool", "sql", TOOL, "the database's message",
    ),
    Notation(
        ("Msg ",), r"(?P<code>Msg \d+), Level \d+, State .*$()(?P<message>)",
        "tool", "sql", TOOL, "the database's message", "paragraph",
    ),
    Notation(
        ("CONFLICT",), r"(?P<message>CONFLICT \(.*)$",
        "tool", "git", TOOL, "a merge stopped",
    ),
    Notation(
        ("fatal: ", "remote: "), r"(?:fatal|remote: (?:fatal|error)): (?P<message>.*)$", "tool", "git", TOOL, _CANNOT
    ),
    Notation(
        ("docker: ", "failed to", "from daemon"),
        r"(?:docker: |ERROR: |failed to solve: |failed to build: |Error response from daemon: )+(?P<message>.*)$",
        "tool", "docker", TOOL, _CANNOT,
    ),
    Notation(
        ("CMake Error",), r"CMake Error(?: at (?P<place>[^\s:]+:\d+) \(\w+\))?:\s*(?P<message>.*)$",
        "tool", "cmake", TOOL, _CANNOT, "indented or empty",
    ),
    Notation(
        (" line ",), r"(?P<message>[^\s\"#].*?) at (?P<place>\S+ line \d+)(?:\.|, near .*)$",
        "tool", "perl", TOOL, "what Perl died of",
    ),
    Notation(
        ("arse error", "untime error", "Error: near line", "Error: in prepare", "Error: stepping"),
        r"(?:(?:Parse|Runtime) error(?: near line \d+)?|Error: (?:near line \d+|in prepare|stepping))[:,] "
        r"(?P<message>.*?)(?: \(\d+\))?$", "tool", "sql", TOOL, "the database's message",
    ),
    Notation(
        (".zsh:", ":cd:", ":source:"), r"(?P<place>[^\s:]+:(?:[\w-]+:)?\d+): (?P<message>\S.*)$",
        "tool", "shell", TOOL, "the shell's message",
    ),
    Notation(
        (" (line ",), r"(?P<place>\S+\.fish \(line \d+\)): (?P<message>\S.*)$",
        "tool", "shell", TOOL, "the shell's message",
    ),
    Notation(
        ("encountered while sourcing",), r"source: (?P<message>Error encountered while sourcing file .*?):?$",
        "tool", "shell", TOOL, "the shell's message",
    ),
    Notation(
        (": line ", ".sh: "), r"(?P<place>[^\s:]+(?:: line \d+|\.sh: \d+)): (?P<message>\S.*)$",
        "tool", "shell", TOOL, "the shell's message",
    ),
    Notation(
        ("sh: ",), r"(?:-|/\S+/)?(?:ba|z|da|k|c|fi)?sh: (?:line \d+: |\d+: )?(?P<message>.*)$",
        "tool", "shell", TOOL, "the shell's message",
    ),
    Notation(
        (": ",),
        r"(?P<message>[\w.+/-]+(?:\[\d+\])?: .*(?:No such file or directory|Permission denied|Is a directory"
        r"|Not a directory|not found|File exists|Operation not permitted|No space left on device|Read-only file system"
        r"|onnection refused|already in use|imed out|reset by peer|temporarily unavailable|busy|not empty"
        r"|Too many open files|too long|Broken pipe|verification failed\.?|service not known|could not resolve host.*"
        r"|cannot .*|invalid option.*|unrecognized option.*|missing .*))$", "tool", "shell", TOOL, _CANNOT,
    ),
    Notation(
        ("rror", "ERR", "FATAL", "atal", "CRITICAL", "SEVERE"),
        r"\s*\[?(?:ERROR|FATAL|CRITICAL|SEVERE|ERR|error|fatal|Error|Fatal|FATAL ERROR|[Ff]atal error|ERR_\w+)\]?"
        r"(?:\[(?P<code>[A-Za-z]+\d*)\])?(?: (?P<code2>[A-Z]{1,6}-?\d{3,5}))?[:!]?\s+(?:-\s+)?(?P<message>\S.*)$",
        "tool", "", TOOL, "a line that begins as an error", "indented",
    ),
    Notation(
        ("rror:", "rror!", "ATAL:", "ERROR:", "ailure:", "eason:", "essage:", "went wrong:"),
        r"\s*(?:\* )?(?:\w+ )?(?:ERROR|FATAL|Error|Fatal error|Failure|Reason|Message|What went wrong)[:!]$"
        r"()(?P<message>)",
        "tool", "", TOOL, "what stands below the word error", "paragraph",
    ),
    Notation(
        ("essage", "msg", "reason", "detail"),
        r"\s+[\"']?(?:message|msg|reason|detail)[\"']?: (?:\"(?P<message>.+)\"|'(?P<said>.+)'),?$",
        "tool", "", TOOL, STRUCTURE,
    ),
    Notation(
        ("ssue: ",), r"Issue: (?:\[(?P<code>[A-Z]+\d+)[^\]]*\] )?(?P<message>\S.*)$",
        "compiler", "lint", CAUSE, "a linter's finding, the first one leads", "indented",
    ),
    Notation(
        (":",), _PLACE + r":\d+(?::\d+)?): (?P<message>(?!(?:warning|note|info|debug)\b)\S.*)$",
        "compiler", "", TOOL, "a message with its place in a file", "indented",
    ),
    Notation(
        ("rror: ", "fatal: "), r"[\w./+-]{1,60}: (?:" + _ERROR + r"|fatal): (?P<message>.*)$",
        "tool", "", TOOL, _CANNOT, "indented",
    ),
    Notation(
        ("is not recognized as ", "cannot be retrieved", "Cannot find path"),
        r"(?P<message>(?:[^:]+ ?: )?(?:(?:The term )?'[^']+' is not recognized as .*"
        r"|The variable '\$[^']+' cannot be retrieved .*|Cannot find path '.*))$",
        "tool", "shell", TOOL, "the shell's message",
    ),
    Notation(
        ("nknown ", "nrecognized ", "nvalid "),
        r"(?P<message>(?:[Uu]nknown|[Uu]nrecognized|[Ii]nvalid) (?:\w+ )?"
        r"(?:flag|option|command|subcommand|argument)\b.*)$",
        "tool", "", TOOL, _CANNOT,
    ),
    Notation(
        ("EADDRINUSE", "is locked", "in use", "refused", "imed out", "not found"),
        r"(?P<message>.*(?:\bEADDRINUSE\b|database is locked|(?:address|port)\b.{0,40} in use"
        r"|onnection refused|timed out|command not found).*)$",
        "tool", "", TOOL, "a condition that is known to end programs",
    ),
    Notation(
        ("warning",), r"(?:" + _PLACE + r":\d+(?::\d+)?): )?warning" + _CODE + r": (?P<message>.*?)" + _FLAG + r"$",
        "compiler", "", WARNING, "a warning; nothing worse is announced", "rust block",
    ),
)  # fmt: skip

NOTATIONS = _CONSEQUENCES + _COMPILERS + _PROGRAMS + _TOOLS

# A diagnostic's code says which tool speaks, where the notation is shared.
TOOL_OF_CODE = (
    (r"E\d{4}$", "rust"),
    (r"TS\d+$", "tsc"),
    (r"(?:C|LNK)\d{4}$", "msvc"),
    (r"CS\d{4}$", "csharp"),
    (r"SC\d{4}$", "shellcheck"),
)
# `ERROR:` and `error:` alone are used by many; the message tells.
TOOL_OF_MESSAGE = (
    (
        r"No matching distribution|Could not find a version that|subprocess-exited|Failed building wheel"
        r"|ResolutionImpossible",
        "pip",
    ),
    (
        r"pathspec|failed to push|Your local changes|cannot lock ref|src refspec|unmerged files"
        r"|would be overwritten by (?:merge|checkout)",
        "git",
    ),
)
