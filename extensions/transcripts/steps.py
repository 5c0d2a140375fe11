"""The steps that a runner's transcript tells, whichever runner has written it."""

from collections.abc import Mapping

from ctxrank.cli.agents.event import text_of
from ctxrank.cli.agents.failures import MAX_OUTPUT_CHARS, without_exit_code
from ctxrank.cli.agents.injected_text import public_part
from ctxrank.indexer.clock import parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_list, object_of


class Where(NamedTuple):
    """Whose a line is: the runner's session, its folder and branch, and the agent in it ('' for the main one)."""

    session: str
    cwd: str
    branch: str
    agent: str


class Said(NamedTuple):
    """A text of an agent, or with `is_prompt` of the person; the last one with the files that it read and wrote."""

    where: Where
    at_us: int
    text: str
    is_prompt: bool
    end: int  # of its line, in the file
    is_last: bool = False
    files: tuple[str, ...] = ()


class Called(NamedTuple):
    """A tool call that has ended."""

    where: Where
    at_us: int
    id: str
    tool: str
    given: Mapping[str, object]
    output: str
    has_failed: bool
    offset: int  # of the line that called
    end: int  # of the line with the result


def output_of(content: object) -> str:
    """What a failed tool printed, without what is private."""
    parts = content if is_list(content) else ()
    text = content if isinstance(content, str) else "\n".join(text_of(object_of(part).get("text")) for part in parts)
    return public_part(without_exit_code(text[: 2 * MAX_OUTPUT_CHARS]))[:MAX_OUTPUT_CHARS]


def moment_of(value: object) -> int | None:
    """When a line was written; None where it does not say."""
    try:
        return parse_time(text_of(value), now=0)
    except UsageError:
        return None
