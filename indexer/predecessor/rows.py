"""What the predecessor's database holds, one value a row, in our words.

A moment is in microseconds; UNKNOWN stands for one that cannot be read. A group of None is session-wide.
"""

from ctxrank.indexer.light_typing import NamedTuple

UNKNOWN = 0  # a moment

Value = str | int | float | None


class SessionRow(NamedTuple):
    """A row of `sessions`."""

    name: str
    mode: str
    status: str
    requirements: str
    branch: str
    metadata: str
    created_at: int
    ended_at: int | None


class GroupRow(NamedTuple):
    """A row of `task_groups`; `others` are the columns that have no column here."""

    session: str
    name: str
    title: str
    status: str
    created_at: int
    references: str
    others: tuple[tuple[str, Value], ...]


class PackageRow(NamedTuple):
    """A row of `context_packages`."""

    id: int
    session: str
    group: str | None
    type: str
    path: str
    producer: str
    priority: str
    summary: str
    size_bytes: int | None
    version: int
    supersedes: int | None
    scope: str
    created_at: int


class ConsumerRow(NamedTuple):
    """A row of `context_package_consumers`; `consumed_at` None is pending."""

    id: int
    package_id: int
    agent: str
    iteration: int
    consumed_at: int | None


class DeliveryRow(NamedTuple):
    """A row of `consumption_scope`."""

    session: str
    group: str | None
    agent: str
    iteration: int
    package_id: int
    delivered_at: int


class ReasoningRow(NamedTuple):
    """A row of `orchestration_logs` whose type is reasoning."""

    id: int
    session: str
    group: str | None
    agent: str
    agent_name: str
    iteration: int
    phase: str
    confidence: str | None
    content: str
    references: str
    is_redacted: bool
    created_at: int


class ErrorRow(NamedTuple):
    """A row of `error_patterns`."""

    pattern_hash: str
    project: str
    signature: str
    solution: str
    confidence: float
    occurrences: int
    lang: str | None
    ttl_days: int
    last_seen: int
    created_at: int


class StrategyRow(NamedTuple):
    """A row of `strategies`."""

    name: str
    project: str
    topic: str
    insight: str
    helpfulness: int
    lang: str | None
    framework: str | None
    last_seen: int
    created_at: int


class SkillRow(NamedTuple):
    """A row of `skill_outputs`."""

    id: int
    session: str
    group: str | None
    agent: str
    skill: str
    iteration: int
    output: str
    created_at: int


class Predecessor(NamedTuple):
    """Everything that comes in; what has a moment is sorted by (moment, place in its table)."""

    schema: int
    sessions: tuple[SessionRow, ...]
    groups: tuple[GroupRow, ...]
    packages: tuple[PackageRow, ...]
    consumers: tuple[ConsumerRow, ...]
    deliveries: tuple[DeliveryRow, ...]
    reasoning: tuple[ReasoningRow, ...]
    errors: tuple[ErrorRow, ...]
    strategies: tuple[StrategyRow, ...]
    skills: tuple[SkillRow, ...]
