"""The context block in the predecessor's format and budget, from what an assembly has chosen.

    ## Context from Prior Work          nothing at all where there is nothing to show
    ### Relevant Context                **[CRITICAL]** path, and the summary quoted
    ### Prior Agent Reasoning           **[agent] phase:** what was thought
    ### Known Error Patterns            the error, and its solution quoted

The budgets are the predecessor's. The classes take turns, so that long packages leave room for reasoning and
errors; every text is on one line. Counted cautiously, in tokens of o200k_base.
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import one_line, shorten
from ctxrank.ranking.context.assembly.block import REFERENCE_LINE, quoted_line
from ctxrank.ranking.context.assembly.shapes import Assembly, IncludedError, IncludedPackage, IncludedReasoning
from ctxrank.ranking.context.prices import Prices

MODELS = ("haiku", "sonnet", "opus")
DEFAULT_MODEL = "sonnet"
MAX_PACKAGES = 5
MAX_SUMMARY_CHARS = 200
MAX_REASONING_CHARS = 300
MAX_SIGNATURE_CHARS = 100
MAX_SOLUTION_CHARS = 200

_SOFT_TOKENS = {"haiku": 900, "sonnet": 1800, "opus": 2400}
_SHARES = {
    "developer": 0.35,
    "senior_software_engineer": 0.30,
    "qa_expert": 0.30,
    "tech_lead": 0.40,
    "investigator": 0.35,
    "requirements_engineer": 0.30,
    "project_manager": 0.10,
}
_OTHER_SHARE = 0.20
# One of each class first, so that the smallest budget starves none; then two packages for one of the others.
_FIRST_ROUND = ("packages", "reasoning", "errors")
_LATER_ROUNDS = ("packages", "packages", "reasoning", "errors")

OPENING = "## Context from Prior Work\n"
_HEAD = f"{OPENING}\n{REFERENCE_LINE}"
_HEADINGS = {
    "packages": "### Relevant Context\n",
    "reasoning": "### Prior Agent Reasoning\n",
    "errors": "### Known Error Patterns\n",
}


class ContextBlock(NamedTuple):
    """The block's text, '' for an empty one, and what of it counts as delivered."""

    text: str
    packages: tuple[IncludedPackage, ...]
    reasoning: tuple[IncludedReasoning, ...]
    errors: tuple[IncludedError, ...] = ()


def context_budget(agent: str, model: str) -> int:
    """How many tokens an agent's context block may have."""
    return int(_SOFT_TOKENS.get(model, _SOFT_TOKENS[DEFAULT_MODEL]) * _SHARES.get(agent, _OTHER_SHARE))


def render(assembly: Assembly, limit: int) -> ContextBlock:
    """As much of the assembly as `limit` tokens hold, each class in its order."""
    texts = {
        "packages": [_package(package) for package in assembly.packages],
        "reasoning": [_reasoning(entry) for entry in assembly.reasoning],
        "errors": [_error(entry) for entry in assembly.errors],
    }
    taken = _fitting(texts, limit)
    if not any(taken.values()):
        return ContextBlock("", (), ())
    parts = [_HEAD]
    for kind, items in texts.items():
        if taken[kind]:
            parts += [_HEADINGS[kind], *items[: taken[kind]]]
    packages, reasoning = assembly.packages[: taken["packages"]], assembly.reasoning[: taken["reasoning"]]
    return ContextBlock("\n".join(parts), packages, reasoning, assembly.errors[: taken["errors"]])


def _fitting(texts: dict[str, list[str]], limit: int) -> dict[str, int]:
    """How many of each class fit. What does not fit ends its class and leaves the room to the others."""
    price = Prices(1.0)
    used = price.of(_HEAD)
    taken = dict.fromkeys(texts, 0)
    open_classes = {kind for kind, items in texts.items() if items}
    turn: tuple[str, ...] = _FIRST_ROUND
    while open_classes:
        for kind in turn:
            if kind not in open_classes:
                continue
            cost = price.of(texts[kind][taken[kind]]) + (0 if taken[kind] else price.of(_HEADINGS[kind]))
            fits = used + cost <= limit
            if fits:
                used += cost
                taken[kind] += 1
            if not fits or taken[kind] == len(texts[kind]):
                open_classes.discard(kind)
        turn = _LATER_ROUNDS
    return taken


def _package(package: IncludedPackage) -> str:
    label = f" ({one_line(package.label)})" if package.label else ""
    title = f"**[{package.priority.upper()}]** {one_line(package.path)} (id {package.id}){label}\n"
    return f"{title}> {_cut(quoted_line(package.summary), MAX_SUMMARY_CHARS)}\n"


def _reasoning(entry: IncludedReasoning) -> str:
    return f"**[{one_line(entry.agent)}] {entry.phase}:** {shorten(one_line(entry.content), MAX_REASONING_CHARS)}\n"


def _error(entry: IncludedError) -> str:
    signature = _cut(one_line(entry.signature), MAX_SIGNATURE_CHARS)
    return f"**Known Issue**: {signature}\n> **Solution**: {_cut(one_line(entry.solution), MAX_SOLUTION_CHARS)}\n"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
