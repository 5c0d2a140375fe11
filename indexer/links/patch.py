"""Adding a link to an artifact's frontmatter, as a unified diff: the file's own style is kept, and nothing is written.

    with_link("---\nid: TASK-1\nlinks:\n  specs: [SPEC-A]\n---\n", "decisions", "DEC-A")
        links:
          specs: [SPEC-A]
          decisions: [DEC-A]

Lines are edited in place, so that comments and order stay. Every result is read again by the parser
that reads artifacts: a result that says anything else than one link more is refused.
"""

import re
from difflib import unified_diff as compared

from ctxrank.indexer.links.artifact import LINK_KINDS
from ctxrank.indexer.links.reading import parse_artifact

_FENCE = "---"
_ENDS = ("---", "...")
_KEY = r"^(?P<indent> *){name}[ \t]*:(?P<value>.*)$"
_COMMENT = re.compile(r"[ \t]+#.*$")


def with_link(path: str, text: str, kind: str, id_: str) -> str | None:
    """The text with one link more in its frontmatter; None where that has to be done by hand."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() in _ENDS), None)
    if lines[0].removeprefix("\ufeff").rstrip() != _FENCE or end is None:
        return None
    head = lines[1:end]
    for edit in (_edited(head, kind, id_), [*head, f"{kind}: [{id_}]"]):
        made = newline.join([lines[0], *edit, *lines[end:]]) if edit is not None else None
        if made is not None and _is_one_more(path, text, made, id_):
            return made
    return None


def unified_diff(path: str, before: str, after: str) -> str:
    """What `git apply` and `patch -p1` take; '' where nothing differs."""
    tab = "\t" if " " in path else ""
    lines = compared(_lines(before), _lines(after), f"a/{path}{tab}", f"b/{path}{tab}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as `patch` sees it."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _is_one_more(path: str, before: str, after: str, id_: str) -> bool:
    one, other = (parse_artifact(path, text.replace("\r\n", "\n")) for text in (before, after))
    mine, theirs = ({link.id for link in artifact.links} for artifact in (one, other))
    rules = ([problem.rule for problem in artifact.problems] for artifact in (one, other))
    same = (one.id, one.title, one.status, one.globs, one.body) == (
        other.id, other.title, other.status, other.globs, other.body,
    )  # fmt: skip
    return same and theirs == mine | {id_} and len({tuple(found) for found in rules}) == 1


def _edited(head: list[str], kind: str, id_: str) -> list[str] | None:
    """The frontmatter's lines with the id in the list where it belongs."""
    top = _find(head, kind, 0, len(head), "")
    if top is not None:
        return _appended(head, top, id_)
    links = _find(head, "links", 0, len(head), "")
    if links is None:
        others = [at for name in LINK_KINDS if (at := _find(head, name, 0, len(head), "")) is not None]
        if others:  # lists at the top are this file's style
            at = _end_of(head, max(others))
            return [*head[:at], f"{kind}: [{id_}]", *head[at:]]
        return [*head, "links:", f"  {kind}: [{id_}]"]
    value = _value(head[links])
    if value.startswith("{"):
        return _in_flow_mapping(head, links, kind, id_)
    end = _end_of(head, links)
    child = next((line for line in head[links + 1 : end] if line.strip() and not line.lstrip().startswith("#")), "")
    if value or child.lstrip().startswith("- "):
        return _appended(head, links, id_)
    if not child:
        return [*head[: links + 1], f"  {kind}: [{id_}]", *head[links + 1 :]]
    indent = child[: len(child) - len(child.lstrip())]
    inner = _find(head, kind, links + 1, end, indent)
    if inner is not None:
        return _appended(head, inner, id_)
    is_block = any(line.lstrip().startswith("- ") for line in head[links + 1 : end])
    added = [f"{indent}{kind}:", f"{indent}  - {id_}"] if is_block else [f"{indent}{kind}: [{id_}]"]
    return [*head[:end], *added, *head[end:]]


def _find(head: list[str], name: str, start: int, end: int, indent: str) -> int | None:
    pattern = re.compile(_KEY.format(name=name))
    found = ((at, pattern.match(head[at])) for at in range(start, end))
    return next((at for at, match in found if match is not None and match["indent"] == indent), None)


def _value(line: str) -> str:
    return _COMMENT.sub("", line.partition(":")[2]).strip()


def _end_of(head: list[str], at: int) -> int:
    """The line after all that belongs to a key: deeper lines, and items of a list that are as deep as it."""
    depth = len(head[at]) - len(head[at].lstrip())
    end = at + 1
    for place in range(at + 1, len(head)):
        line = head[place]
        if not line.strip():
            continue
        deeper = len(line) - len(line.lstrip()) > depth
        if not deeper and not line[depth:].startswith(("- ", "]")):
            break
        end = place + 1
    return end


def _appended(head: list[str], at: int, id_: str) -> list[str]:
    """A list with one item more, whether it is in brackets, in lines, or one text."""
    value, end = _value(head[at]), _end_of(head, at)
    name, _, rest = head[at].partition(":")
    if value.startswith("["):
        last = next((place for place in range(end - 1, at - 1, -1) if "]" in _COMMENT.sub("", head[place])), at)
        before, _, after = head[last].rpartition("]")
        is_first = not before.rstrip().rstrip("[").strip() if last == at and value == "[]" else False
        joint = "" if is_first or _last_sign(head[at:last], before) in "[," else ", "
        if joint == "" and before.rstrip().endswith(","):
            joint = " "
        return [*head[:last], f"{before.rstrip()}{joint}{id_}]{after}", *head[last + 1 :]]
    if value:
        comment = _COMMENT.search(rest)
        return [*head[:at], f"{name}: [{value}, {id_}]{comment[0] if comment else ''}", *head[at + 1 :]]
    items = [line for line in head[at + 1 : end] if line.lstrip().startswith("- ")]
    if not items:
        return [*head[:at], f"{name}: [{id_}]", *head[at + 1 :]]
    indent = items[-1][: len(items[-1]) - len(items[-1].lstrip())]
    return [*head[:end], f"{indent}- {id_}", *head[end:]]


def _last_sign(lines: list[str], before: str) -> str:
    """The last sign of a list in brackets before it closes."""
    text = "\n".join([*(_COMMENT.sub("", line) for line in lines), before]).rstrip()
    return text[-1:]


def _in_flow_mapping(head: list[str], at: int, kind: str, id_: str) -> list[str] | None:
    """`links: {specs: [A]}` on one line."""
    line = head[at]
    found = re.search(rf"\b{kind}[ \t]*:[ \t]*\[([^\]]*)\]", line)
    if found is not None:
        items = found[1].strip().rstrip(",")
        made = f"{line[: found.start(1)]}{f'{items}, ' if items else ''}{id_}{line[found.end(1) :]}"
    else:
        before, closing, after = line.rpartition("}")
        if not closing:
            return None
        joint = "" if before.rstrip().endswith("{") else ", "
        made = f"{before.rstrip()}{joint}{kind}: [{id_}]}}{after}"
    return [*head[:at], made, *head[at + 1 :]]
