"""The extensions beside the core, and the one door to them: the core imports none.

What the core asks of an extension is a port: a protocol next to the code that asks, with its contract. `provided`
imports what answers at a port. Where an installation leaves the extension's folder out, that is one sentence and exit
code 2, and everything else works.

    provided(SHARING, "team").wake(store)
"""

from collections.abc import Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.machine import ALL_EXTENSIONS, is_off

# What each extension is to a person: the words of a sentence about its absence.
EXTENSIONS: Mapping[str, str] = {
    "bazinga": "the predecessor's commands and its database",
    "team": "a team's log on PostgreSQL",
    "opensearch": "an index in an OpenSearch cluster",
    "web": "the local page",
    "mcp": "MCP, and one process for many calls",
    "transcripts": "reading what agent sessions left behind",
    "links": "the linked artifacts of .contextia/",
    "evaluation": "measuring the ranking",
    "salvage": "reading a damaged file page by page",
}
_OURS = "ctxrank."
_PACKAGE = f"{_OURS}extensions"
OWNERS = ("links", "transcripts")  # those that may have tables in a store

ENGINE = f"{_PACKAGE}.opensearch.port:CLUSTER"  # engine.ClusterIndex
OWNER = f"{_PACKAGE}.{{}}.tables:OWNER"  # indexer.owners.Owner, of each of OWNERS
SHARING = f"{_PACKAGE}.team.port:TEAM_LOG"  # cli.sharing.Sharing
PAGE_READER = f"{_PACKAGE}.salvage.port:READER"  # care.page_reader.PageReader
SECTION = f"{_PACKAGE}.{{}}.section:SECTION"  # context.section.Section, of whichever extensions have one
NAMED_DOCUMENTS = f"{_PACKAGE}.links.store:documents_named"  # of retrieval.search: those of an id of their own
INDEX_STEP = f"{_PACKAGE}.links.sync:index_linked"  # cli.actions.upkeep.indexing.IndexStep
ROUTE = f"{_PACKAGE}.web.port:served"  # a function of a call: cli.route
TRANSCRIPTS = f"{_PACKAGE}.transcripts.importing:on_session_end"  # a function of cli.agents.session.HookCall


def provided(port: str, wanted: str) -> Any:
    """What a module has by this name, `module:member`: of a port, or the function of a command.

    Raises UsageError where an installation leaves a room of ours out; `wanted` is what was asked for.
    """
    module, _, member = port.partition(":")
    try:
        return getattr(__import__(module, fromlist=[member]), member)  # importlib's own function would load warnings
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(_OURS):
            raise
        raise absence(error.name, f"'{wanted}'") from error


def is_installed(extension: str) -> bool:
    """Whether the folder of an extension is there; nothing of it is imported but its name."""
    try:
        __import__(f"{_PACKAGE}.{extension}")
    except ModuleNotFoundError:
        return False
    return True


def is_in_use(extension: str) -> bool:
    """Whether an extension is there and not switched off on this machine."""
    return not is_off(extension, ALL_EXTENSIONS) and is_installed(extension)


def absence(module: str, what: str) -> UsageError:
    """The sentence for what needs a module that is not installed."""
    if not module.startswith(_OURS):
        return UsageError(f"{what} needs {module}, which is not installed.", "Install ctxrank with what it depends on.")
    name = module.removeprefix(f"{_PACKAGE}.")
    described = f"{module} ({EXTENSIONS[name]})" if name in EXTENSIONS else module
    return UsageError(f"{what} is not installed.", f"This installation leaves {described} out.")
