"""Shapes: the request of an assembly, what its steps share, what a block can hold, and its answer."""

from ctxrank.indexer.agents import UNKNOWN_AGENT_LIKE, Team, fold_agent
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple
from ctxrank.indexer.records.receipts import ReceiptEntry
from ctxrank.indexer.records.sessions import Session, TaskGroup
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import estimate_tokens
from ctxrank.ranking.context.assembly.limits import REASONING_TOKENS, Budget, Usage, Zone
from ctxrank.ranking.context.budget import Item
from ctxrank.ranking.context.prices import Prices

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation

_LIKE = 0.6  # from here an unknown agent's name is a slip of the hand
DEFAULT_MODEL = "sonnet"
TOKENS_PER_SPAWN = 15_000  # what an orchestrator that counts only its spawns assumes for each
# What a field of a request may be; `detail` also None.
WORDS: dict[str, tuple[str, ...]] = {
    "reach": ("group", "session", "project"),
    "detail": ("summary", "passage", "full"),
    "reasoning_level": tuple(REASONING_TOKENS),
    "testing_mode": ("full", "minimal", "disabled"),
}
# The fields of a request that ask for a section, and the extension that makes it: see context/section.py.
SECTIONS = {"task_id": "links"}
NEVER = 1 << 62  # a moment after all
# Grows by one when equal inputs give other bytes than before: a replay of a receipt of another says so.
BLOCK_VERSION = 16


class AssembleRequest(NamedTuple):
    """One spawn: who asks, for what, and with how much room. A group of None is session-wide.

    `detail` None is passages: the best ones where there is a task text, else a file's beginning; `include_reasoning`
    None is the agent's default; `is_explained` False saves the scores' trees; `as_of` is the moment recency is
    measured from (microseconds, None is now). `with_skills` asks for the section about skills. `error_output`
    is the current failure as it was printed; None is the last one that the group recorded. `task_id` is a task of
    `.contextia/`, whose linked artifacts come before the agent's heading. `with_files` False leaves out indexed files
    that are no package's. `run` names one run of an agent, which gets first what it has not been given; without it one
    from its second iteration on is a run. Deliveries from `delivered_before` on (microseconds) do not count: a replay
    needs that. `after` is a receipt of the session: the block has only what that one did not show and is newer, or was
    changed since. `anchors` are the states of code that a receipt has, as code_state.py writes them: a replay reads
    them there.
    """

    session: str
    agent: str
    group: str | None = None
    task: str = ""
    model: str | None = None
    current_tokens: int = 0
    iteration: int = 0
    limit: int | None = None
    budget: int | None = None
    reach: str = "group"
    detail: str | None = None
    include_reasoning: bool | None = None
    reasoning_level: str = "medium"
    project: str | None = None
    lang: str | None = None
    framework: str | None = None
    as_of: int | None = None
    is_marking: bool = True
    is_explained: bool = True
    with_skills: bool = False
    testing_mode: str = "full"
    error_output: bytes | None = None
    delivered_before: int | None = None
    task_id: str | None = None
    with_files: bool = True
    run: str | None = None
    after: int | None = None
    anchors: str | None = None

    @property
    def before(self) -> int:
        """The moment from which on deliveries do not count."""
        return NEVER if self.delivered_before is None else self.delivered_before


# The types of each field that a caller gives, of one that may be None that as well.
FIELD_TYPES: dict[str, tuple[type, ...]] = {
    name: getattr(type_, "__args__", (type_,)) for name, type_ in AssembleRequest.__annotations__.items()
}


class Spawn(NamedTuple):
    """Who asks, resolved: what all steps of one assembly share. A group of id -1 is not there.

    `request` is without its task, which is given to what reads it; `project` is that of the errors and strategies;
    `news` are the ids of what is new since the receipt that the request names, None where it names none.
    """

    store: Store
    request: AssembleRequest
    config: Config
    agent: str
    session: Session
    group: TaskGroup | None
    zone: Zone
    project: str
    limit: int  # of packages
    prices: Prices
    seq: int  # the last change of the store
    now: int  # from which recency is measured; microseconds
    started_at: int
    news: frozenset[str] | None = None


class SectionItem(NamedTuple):
    """An item of a section, such as a linked artifact; `chain` are ids from the task to it."""

    id: str
    type: str
    title: str
    status: str
    level: str
    tokens: int
    tier: str
    chain: tuple[str, ...]
    reason: str


class IncludedPassage(NamedTuple):
    """A part of a file that is in the block, or could be: then with its price, and who counted its tokens."""

    id: int
    heading: str
    start_line: int
    end_line: int
    text: str
    price: int = 0
    counter: str = ""


class IncludedDocument(NamedTuple):
    """A package in the block, or an indexed file that is no package's, which has no fields from `priority` on.

    `label` says why a package is there though it is not simply this agent's and group's. As material it is shown whole:
    the budget lowers its detail and takes passages away.
    """

    id: int
    path: str
    passages: tuple[IncludedPassage, ...]
    detail: str
    tokens: int
    score: float
    label: str
    reason: str
    file_state: str = ""  # current, changed, missing, elsewhere, or '' for none
    title: str = ""
    priority: str = ""
    type: str = ""
    producer: str = ""
    summary: str = ""
    created_at: int = 0
    explanation: "Explanation | None" = None


class IncludedReasoning(NamedTuple):
    """What an earlier agent thought, as the block shows it."""

    id: int
    agent: str
    phase: str
    content: str
    confidence: str | None
    tokens: int = 0


class IncludedError(NamedTuple):
    """A known error with its solution, as the block shows it."""

    id: int
    signature: str
    solution: str
    confidence: float
    occurrences: int
    tokens: int = 0
    grade: str = ""  # exact, template or near to the current failure; '' where the task's words found it
    recognition: float | None = None  # that it is the same error; None there
    state: str = ""
    why: str = ""
    word: str = ""  # known, or looks like
    gone: str = ""  # a sentence on what the solution names and is gone


class CurrentFailure(NamedTuple):
    """The current failure, given or the group's last one, and the outcome of looking it up."""

    source: str  # "given" or "last"
    outcome: str
    reason: str
    unit: str = ""  # its redacted text


class IncludedStrategy(NamedTuple):
    """What worked before, as the block shows it."""

    id: int
    topic: str
    insight: str
    tokens: int = 0


class IncludedSkills(NamedTuple):
    """The section about skills, as the block shows it."""

    text: str
    tokens: int = 0


class BlockCandidate(NamedTuple):
    """What could be in the block: its forms, the shortest first; after the last one passage more at each level.

    `texts` are what is written of each form, the last that of the form which the passages follow. A receipt names it
    with `reason` and `detail`, '' for that of what is shown. `passage_count` is that of the whole file: all of them
    shown is full detail.
    """

    item: Item
    forms: tuple[Any, ...]
    texts: tuple[str, ...]
    detail: str
    reason: str
    passages: tuple[IncludedPassage, ...] = ()
    passage_count: int = 0

    def shown_at(self, level: int, tokens: int) -> Any:
        """As the block shows it at a level of its item."""
        form = self.forms[min(level, len(self.forms) - 1)]
        passages = self.passages_at(level)
        if not passages:
            return form._replace(tokens=tokens)
        detail = "full" if len(passages) == self.passage_count else "passage"
        return form._replace(tokens=tokens, passages=passages, detail=detail)

    def passages_at(self, level: int) -> tuple[IncludedPassage, ...]:
        """The passages that are shown at a level of its item, in the order of the file."""
        count = max(0, level + 1 - len(self.forms))
        return tuple(sorted(self.passages[:count], key=lambda one: (one.start_line, one.id)))


class Omitted(NamedTuple):
    """What could have been in the block and is not, or not in full, and why."""

    id: str
    reason: str
    tokens: int


class Assembly(NamedTuple):
    """A finished block, its text in `parts`. `used` and all tokens are by `counter`; `state` is its line on how far the
    session and the group are, '' where they are active and pending.

    `entries` are what is in the block, as a receipt names it. `skills` is the section about skills where it was
    requested and has room, else ''; `missing_skills` are those that the agent before this one was to invoke and did
    not, `configured_skills` what the configuration says of both agents.
    `hidden` counts the packages that are not shown by their priority, None where nobody is told, and `listing` is the
    command that lists them.
    `estimated` are the packages and files, by their ids, whose tokens are estimates. `is_complete` says that a larger
    budget would add nothing.
    `anchors` are the states of the code that packages are about, as a receipt has them (code_state.py).
    `after` is the receipt since which all of it is new, None for a whole block.
    `receipt` is None where none could be written; `shared_prefix` is the text's beginning that the group was given last
    time, too.
    """

    outcome: str
    engine: str
    reason: str
    stale: int
    agent: str
    usage: Usage
    model: str
    budget: Budget
    used: int
    by_class: dict[str, int]
    counter: str
    packages: tuple[IncludedDocument, ...] = ()
    reasoning: tuple[IncludedReasoning, ...] = ()
    errors: tuple[IncludedError, ...] = ()
    strategies: tuple[IncludedStrategy, ...] = ()
    skills: str = ""
    entries: tuple[ReceiptEntry, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    available: int = 0
    hidden: dict[str, int] | None = None
    listing: str = ""
    overflow: int = 0
    parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failure: CurrentFailure | None = None
    missing_skills: str = ""
    configured_skills: tuple[tuple[str, str], ...] = ()
    linked: tuple[SectionItem, ...] = ()
    files: tuple[IncludedDocument, ...] = ()
    is_complete: bool = False
    receipt: int | None = None
    shared_prefix: str | None = None
    state: str = ""
    after: int | None = None
    estimated: tuple[str, ...] = ()
    anchors: str = ""

    @property
    def text(self) -> str:
        """What an agent is given."""
        return "".join(self.parts)

    @property
    def shared_prefix_tokens(self) -> int | None:
        """Of the beginning that the group was given last time, too. Counted here: JSON alone has it."""
        return None if self.shared_prefix is None else estimate_tokens(self.shared_prefix)


def forgiven_agent(text: str, team: Team) -> tuple[str, str]:
    """(agent, note): an unknown agent is served, with a developer's limits, because a spawn depends on it."""
    agent = fold_agent(text, team)
    if team.knows(agent):
        return agent, ""

    def likeness_to(name: str) -> float:
        """The share of two names' pairs of letters that both have; difflib would cost a spawn more than its block."""
        pairs, others = ({word[at : at + 2] for at in range(len(word) - 1)} for word in (agent, name))
        return 2 * len(pairs & others) / max(len(pairs) + len(others), 1)

    likeness, near = max((likeness_to(name), name) for name in team.agents)
    known = f"Did you mean {near}?" if likeness >= _LIKE else f"Agents are {', '.join(team.agents)}."
    return agent or UNKNOWN_AGENT_LIKE, f"'{text}' is not an agent; it gets a developer's limits. {known}"
