"""The Markdown block: what an agent is given, piece by piece.

Everything that comes from the store is data: on one line it cannot start a heading or a fence, on several
it is in a fence longer than any run of backticks in it.
"""

from collections.abc import Callable, Mapping, Sequence

from ctxrank.indexer.clock import format_day
from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.records.sessions import Session, TaskGroup
from ctxrank.indexer.store.freshness import shown_path
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.text.lines import REFERENCE_LINE as REFERENCE_LINE
from ctxrank.indexer.text.lines import fence, joined, name_and_text, one_line, printable, shorten
from ctxrank.indexer.text.lines import quoted_line as quoted_line
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.limits import Usage
from ctxrank.ranking.context.assembly.shapes import (
    Assembly,
    IncludedDocument,
    IncludedError,
    IncludedPassage,
    IncludedReasoning,
    IncludedStrategy,
)

MOST_URGENT_FIRST = ("critical", "high", "medium", "low")
# What a session and a group are as long as nobody says otherwise.
_ORDINARY = ("active", "pending", "")
EMPTY = (
    "### Relevant Packages (0/0)\n\nNo context packages found for this session/group. "
    "The agent will proceed with task and specialization context only.\n"
)
FALLBACK = (
    ":warning: Context assembly encountered an error. Proceeding with minimal context.\n\n"
    "**Fallback Mode**: Task and specialization context only. Context packages unavailable.\n"
)
WRAP_UP = "### Essential Info Only\n\nMinimal context mode active. Focus on completing current task.\n"
EMERGENCY = (
    "Context assembly skipped due to token budget constraints.\n"
    "Suggest: Complete current operation and start new session.\n"
)
SWITCHED_OFF = (
    "Context assembly is switched off (enable_context_assembler: false). "
    "The agent will proceed with task and specialization context only.\n"
)
NO_PACKAGES = "### Relevant Packages (0/0)\n\nNo context packages found for this session/group.\n"
NO_NEW_PACKAGES = "### Relevant Packages (0/0)\n\nNo package is new since then.\n"
NOTHING_FITS = "No package fits into the token budget.\n"
ONLY_LOW = "Only packages of low priority are known; this zone leaves them out.\n"
HIDDEN = "Not shown: {}. All of them: `{}`\n"
OVERFLOW = "📦 +{} more packages available (re-invoke with higher limit to expand)\n"
LINE_CHARS = 160  # of what is said of a package: about 40 tokens


def opening(agent: str) -> str:
    """The block's own heading."""
    return f"## Context for {one_line(agent)}\n"


def state_line(session: Session, group: TaskGroup | None) -> str:
    """How far a session and a group are, where somebody said so; '' else."""
    states = [("Session", session.name, session.status)]
    if group is not None:
        states.append(("Group", group.name, group.status))
    said = [f"{what} {one_line(name)}: {one_line(status)}." for what, name, status in states if status not in _ORDINARY]
    return f"{' '.join(said)}\n" if said else ""


def zone_line(usage: Usage) -> str:
    """The indicator of a zone other than Normal; '' in Normal."""
    percent = f"{usage.shown_percent:.1f}%"
    return {
        limits.NORMAL: "",
        limits.SOFT_WARNING: f"🔶 **Token budget: Soft Warning ({percent}) - Reduced summaries (200 char)**\n",
        limits.CONSERVATIVE: f"🔶 **Token budget: Conservative ({percent})**\n",
        limits.WRAP_UP: f"🔶 **Token budget: Wrap-up ({percent}) - Completing current operation**\n",
        limits.EMERGENCY: f"🚨 **Token budget: Emergency ({percent}) - Checkpoint recommended**\n",
    }[usage.zone]


def nothing_known(agent: str) -> str:
    """The whole block of a session that the store has never heard of: its first spawn, mostly."""
    return joined(opening(agent), EMPTY)


def fallback(agent: str) -> str:
    """The whole block where assembling failed: a spawn goes on without it."""
    return joined(opening(agent), FALLBACK)


def packages_heading(count: int, available: int, level: str = "") -> str:
    """The heading of the packages; with a `level` the one of the Conservative zone."""
    if level:
        return f"### Priority Packages ({count}/{available}) - {level} level\n"
    return f"### Relevant Packages ({count}/{available})\n"


def package_line(package: IncludedDocument) -> str:
    """A package in one line: what it is called, and the beginning of its summary, unless that begins with the title."""
    name, said = map(one_line, name_and_text("", package.title or package.path, package.summary))
    label = f" · {package.label}" if package.label else ""
    said = said if said.startswith(name) else ": ".join(filter(None, (name, said)))
    return f"**[{package.priority.upper()}]** {shorten(said, LINE_CHARS)} · {public_id(PACKAGE, package.id)}{label}\n"


def passage(shown: IncludedPassage) -> str:
    """A passage in a fence that it cannot close."""
    text = printable(shown.text).strip("\n")
    around = fence(text)
    title = one_line(shown.heading).replace("`", "'")
    return f"\n{around}text lines {shown.start_line}-{shown.end_line} {title}".rstrip() + f"\n{text}\n{around}\n"


def reasoning_entry(entry: IncludedReasoning) -> str:
    """One entry on one line."""
    return f"**[{one_line(entry.agent)}] {entry.phase}:** {one_line(entry.content)}\n"


def error_entry(error: IncludedError) -> str:
    """One known error with what fixed it."""
    seen = f"seen {error.occurrences} time{'' if error.occurrences == 1 else 's'}"
    if error.state == "sighted":
        seen += ", unconfirmed"
    known = "Looks Like a Known Issue" if error.word == "looks like" else "Known Issue"
    return (
        f'⚠️ **{known}**: "{one_line(error.signature)}"\n'
        f"> **Solution**: {one_line(error.solution)}\n"
        f"> **Confidence**: {error.confidence:.2g} ({seen})\n" + (f"> {one_line(error.gone)}\n" if error.gone else "")
    )


def strategy_entry(strategy: IncludedStrategy) -> str:
    """One strategy on one line."""
    return f"**[{one_line(strategy.topic)}]** {one_line(strategy.insight)}\n"


def package_entry(package: IncludedDocument) -> str:
    """A package as its detail says: in a line, or with its summary, where it is from and why it is here, and passages.

    It is called by its path, or its title.
    """
    if package.detail == "line":
        return package_line(package)
    name, said = name_and_text(shown_path(package.path), package.title, package.summary)
    quote = f"> {quoted_line(said)}\n\n" if said else ""
    by = f"{package.type} by {package.producer}"
    about = (public_id(PACKAGE, package.id), by, format_day(package.created_at), package.reason)
    head = f"**[{package.priority.upper()}]** {one_line(name)}\n{quote}{one_line(' · '.join(about))}\n"
    return "".join((head, *map(passage, package.passages)))


def file_entry(file: IncludedDocument) -> str:
    """A file: where it is, and why it is here; with its passages."""
    head = f"**{one_line(file.path)}** · {public_id('artifact', file.id)} · {one_line(file.reason)}\n"
    return "".join((head, *map(passage, file.passages)))


class BlockClass(NamedTuple):
    """How a class is written: the kind of its documents, its heading with a place for their number, and each item."""

    kind: str
    heading: str
    text: Callable[[Any], str]


# By the field of an assembly, in the order of a block. The heading of the packages is part of the frame.
BLOCK_CLASSES = {
    "packages": BlockClass(PACKAGE, "", package_entry),
    "files": BlockClass("artifact", "### From the project\n", file_entry),
    "reasoning": BlockClass("reasoning", "### Prior Agent Reasoning ({} entries)\n", reasoning_entry),
    "errors": BlockClass("error", "### Error Patterns ({} match{})\n", error_entry),
    "strategies": BlockClass("strategy", "### Strategies ({})\n", strategy_entry),
}


def heading(name: str, count: int) -> str:
    """The heading of a class with so many items; '' for one without."""
    return BLOCK_CLASSES[name].heading.format(count, "" if count == 1 else "es") if name in BLOCK_CLASSES else ""


def render(
    assembly: Assembly, texts: Mapping[str, Sequence[str]], level: str, *, says_nothing_fits: bool, has_tail: bool
) -> tuple[str, ...]:
    """The block of a zone that has packages, in parts that make it when they are put together.

    `texts` are what is written of each item by its class; `has_tail` is whether lines say what is not shown.
    """
    parts = [opening(assembly.agent), zone_line(assembly.usage), REFERENCE_LINE, assembly.state]
    if assembly.available:
        parts.append(packages_heading(len(assembly.packages), assembly.available, level))
        parts += texts["packages"]
        parts.append(NOTHING_FITS if says_nothing_fits else "")
        parts.append(ONLY_LOW if is_only_low(assembly, level) else "")
    elif assembly.after is not None:
        parts.append(NO_NEW_PACKAGES)
    else:  # only a block with files does not say that nothing is known
        parts.append(NO_PACKAGES if assembly.files else EMPTY)
    for name in BLOCK_CLASSES:
        if name != "packages" and texts[name]:
            parts += [heading(name, len(texts[name])), *texts[name]]
    if has_tail:
        parts.append(OVERFLOW.format(assembly.overflow) if assembly.overflow > 0 else "")
        parts.append(hidden_line(assembly.hidden or {}, assembly.listing))
    parts.append(assembly.skills)
    written = [part for part in parts if part]
    return (*(f"{part}\n" for part in written[:-1]), *written[-1:])


def hidden_line(hidden: Mapping[str, int], command: str) -> str:
    """How many packages are not shown, by priority; '' where all are."""
    counts = ", ".join(f"{hidden[priority]} {priority}" for priority in MOST_URGENT_FIRST if hidden.get(priority))
    return HIDDEN.format(counts, command) if counts else ""


def is_only_low(assembly: Assembly, level: str) -> bool:
    """Whether the Conservative zone has packages, and none that it shows."""
    return assembly.usage.zone is limits.CONSERVATIVE and assembly.available > 0 and not level
