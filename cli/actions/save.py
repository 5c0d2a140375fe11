"""`ctxrank save`: a package of a file, a sentence or stdin; session, type and summary are guessed unless given."""

import os
import re

from ctxrank.cli.actions.given import given_text, or_piped
from ctxrank.cli.actions.packages import saved_reply
from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.records.sessions import session_of_today
from ctxrank.indexer.redaction.engine import redact, secret_values
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, shell_word, shorten

_TITLE_CHARS = 80
_SUMMARY_CHARS = 300
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.M)
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|\n\s*\n|$)", re.S)
# The first whose words are in the heading or the first sentence; none: research.
_TYPES = (
    ("handoff", r"hand-?off|hand(?:ed|ing)? over|next steps"),
    ("decisions", r"decisions?|decided?|we (?:chose|use)|adr"),
    ("failures", r"fail(?:s|ed|ures?)?|errors?|crash(?:es|ed)?|broken?|bugs?"),
    ("investigation", r"investigat\w+|root cause|because|why"),
)


def save(
    call: Call, store: Store, finding: str | None, session: str | None, summary: str | None, **options: Any
) -> Reply:
    """Save a finding. Raises UsageError for an argument that is neither a file nor a text."""
    is_file = finding is not None and finding != "-" and os.path.isfile(finding)
    text = "" if is_file else given_text(call.note, _text(or_piped(finding)))
    path, mode = "-", load_config(store).redaction_mode
    if is_file:
        root = store.location.root
        path = os.path.relpath(os.path.join(os.path.realpath(os.getcwd()), finding or ""), os.path.realpath(root))
        if path.split(os.sep)[0] == os.pardir:
            raise UsageError(
                f"{finding} is outside the root {root}.",
                f"Save its text: ctxrank save < {shell_word(finding or '')}",
            )
        read = read_text_file(root, contained_path(root, path))
        text = read.text if isinstance(read, FileText) else ""
    # Guessed from what is clean already: a secret that a summary cuts in two would not be known any more.
    heading, sentence = guessed(redact(text, mode).text)
    said = redact(summary, mode, secret_values(text, mode)).text if summary else sentence or heading or path
    new = NewPackage(
        session or session_of_today(store.primary), options["group"], options["type_"] or type_of(heading, sentence),
        path, options["agent"], said, options["priority"] or "",
        title="" if is_file else shorten(heading or said, _TITLE_CHARS),
    )  # fmt: skip
    saved = save_package(store, new, text=None if is_file else text, create_session=True, needs_file=True)
    about = {"session_id": new.session, "group_id": new.group, "type": new.type, "summary": said}
    return saved_reply(saved, about, [f"   {new.type} of {one_line(new.session)}: {one_line(said)}"])


def _text(finding: str | None) -> str | None:
    """The argument where it can be a text. Raises UsageError, which says how it was read."""
    if finding is None or finding == "-" or len(finding.split()) != 1:
        return finding
    if os.path.isdir(finding):
        raise UsageError(f"{finding} is a folder.", f"'ctxrank index {shell_word(finding)}' takes in its files.")
    raise UsageError(
        f"There is no file {finding}, and as a finding it is one word.",
        "Give the path of a file, or a sentence in quotes, or '-' and the text on stdin.",
    )


def guessed(text: str) -> tuple[str, str]:
    """The first heading of a text and the first sentence below it, '' for none."""
    heading = _HEADING.search(text)
    body = text if heading is None else text[heading.end() :]
    sentence = _SENTENCE.match(_HEADING.sub("", body).strip())
    words = " ".join(sentence[0].split()) if sentence else ""
    return heading[1] if heading else "", words[:_SUMMARY_CHARS]


def type_of(*texts: str) -> str:
    """The type that the words of a text name, the first text that names one."""
    named = (name for text in texts for name, pattern in _TYPES if re.search(rf"(?i)\b(?:{pattern})\b", text))
    return next(named, "research")
