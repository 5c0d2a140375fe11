"""Chinese, Japanese and Korean: runs of characters that no space parts.

stretches("v2日本語")      ["v2", "日本語"]
pairs("日本語")            ["日本", "本語"]
"""

import re

_CHARACTERS = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Compiling them takes half a bare start.
_ANY = re.compile(f"[{_CHARACTERS}]")
_STRETCH = re.compile(f"[{_CHARACTERS}]+|[^{_CHARACTERS}]+")


def stretches(word: str) -> list[str]:
    """A word cut into runs of CJK and what is between them."""
    return _STRETCH.findall(word)


def is_cjk(stretch: str) -> bool:
    """Whether a stretch is a run of CJK."""
    return _ANY.match(stretch) is not None


def pairs(run: str) -> list[str]:
    """Overlapping pairs of a run; a single character stays itself."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
