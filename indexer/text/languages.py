"""Languages by the extensions of their files, as far as passages and definitions are found in them: languages.tsv."""

from ctxrank.indexer.light_typing import NamedTuple, cache
from ctxrank.indexer.text.tables import rows


class Language(NamedTuple):
    """What a file is written in: markdown, rst, prose, python, braces, or '' for anything else."""

    kind: str = ""
    leads: tuple[str, ...] = ()  # what a line directly above a definition begins with that belongs to it
    has_function_keyword: bool = False  # so that a name before a parenthesis is a call

    @property
    def is_code(self) -> bool:
        """Whether definitions are looked for."""
        return self.kind in ("python", "braces")

    @property
    def is_prose(self) -> bool:
        """Whether it is read as paragraphs."""
        return self.kind in ("markdown", "rst", "prose")


_OTHER = Language()


@cache
def _languages() -> dict[str, Language]:
    return {
        extension: Language(kind, tuple(leads.split()), bool(keyword))
        for extension, kind, leads, keyword in rows(__file__, "languages")
    }


def language_of(path: str) -> Language:
    """The language of a file, by the extension of its path."""
    # `splitext` takes three times as long.
    return _languages().get("".join(path.rpartition("/")[2].lstrip(".").rpartition(".")[1:]).lower(), _OTHER)
