"""Stack frames as runtimes print them: file, function, the line of code where it is shown, and whose code it is.

    frame_of('  File "/srv/app/pay.py", line 7, in charge')  ->  Frame("pay.py", "charge", "", is_ours=True)

Line numbers and folders are left out: they change while the error stays the same.
"""

import re

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import Expressions, listed, signed_rows
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


_CALLS = Expressions("frames")
NAMELESS = listed("nameless") | {""}
JAVA_FILES = (".java", ".kt", ".scala")


def frame_of(line: str) -> Frame | None:
    """The frame in this line, in whatever runtime's notation; None if it is no frame."""
    if 'File "' in line and (match := _CALLS["python"].match(line)):
        return frame_at(match[1], match[2] or "")
    for signs, pattern in signed_rows("frames"):
        if any(sign in line for sign in signs) and (match := kept.match(pattern, line)):
            named = match.groupdict()
            return frame_at(named.get("file") or "", named.get("function") or "")
    return None


def frame_at(file: str, function: str) -> Frame:
    """The frame of a call, by what is printed of it."""
    is_foreign = _CALLS["foreign file"].search(file) or _CALLS["foreign function"].match(function)
    if "." in function and (match := _CALLS["called on"].match(function)) is not None:
        function = match[1] or ""
    return Frame(file_name(file), function.strip()[:_MAX_NAME], is_ours=is_foreign is None)


def called_above(line: str, frame: Frame, pattern: str) -> Frame:
    """The frame with its function, which some tools print on the line above."""
    match = kept.match(pattern, line)
    if match is None:
        return frame
    return frame._replace(
        function=match[1].rpartition("/")[2][:_MAX_NAME],
        is_ours=frame.is_ours and match[1] != "panic" and _CALLS["foreign function"].match(match[1]) is None,
    )


def last_part(path: str) -> str:
    """What stands behind a path's last separator, of either kind."""
    return path.replace("\\", "/").rpartition("/")[2]


def file_of(place: str) -> str:
    """The path of a place as a tool prints it, without the line behind it: of C:\\a.c(3,1) and of a.c:3."""
    drive = 2 if place[1:3] in (":\\", ":/") else 0
    return place[:drive] + place[drive:].split(":")[0].split("(")[0]


def file_name(path: str) -> str:
    """A path's last part, as far as it is shown."""
    name = last_part(path)[:_MAX_NAME]
    return re.sub(r"0x[0-9a-f]+", "0x", name) if "0x" in name else name  # a module that was made in memory


def own_frames(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames of the project, outermost first, without helpers that assert; all of them where none is."""
    own = tuple(frame for frame in frames if frame.is_ours) or frames
    return tuple(frame for frame in own if not _CALLS["asserts"].search(frame.function)) or own
