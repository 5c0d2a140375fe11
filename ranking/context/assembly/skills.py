"""The section of a block about skills: a checklist, what the task suggests, and what the agent before left out.

checklist(skill_levels(primary, "developer"), "developer")       "## Skills Checklist …"
suggest_skills("add a /users endpoint", levels)[0].skill       "api-contract-validation"
"""

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.records.skill_evidence import check_evidence, previous_agent
from ctxrank.indexer.records.skills_config import SkillLevels, skill_levels
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.context.assembly.shapes import BlockCandidate, IncludedSkills, Spawn
from ctxrank.ranking.context.budget import Item

HEADING = "## Skills Checklist"
SUGGESTED = "### Suggested Skills for This Task"
MAX_LINES = 10
# They pass work on and do none that a skill would check.
_WITHOUT_CHECKLIST = ("project_manager", "orchestrator")
_MUST = "**MUST invoke before completion:**"
_CONSIDER = "**Consider if relevant:**"


class Suggestion(NamedTuple):
    """An optional skill that fits a task, and why in a few words."""

    skill: str
    reason: str


# The words of the skills plan. Three of them begin other words, too: `rest` counts alone, so that no forest and no
# restart is one, `api` as a part of a name (apis, apiVersion, APIKey, apiv2), so that no apiary is, and an author
# is not taken for authentication.
_API = r"apis?(?:(?![^\W_])|(?=v?\d)|(?-i:(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z])))"
# A skill, the words of a task that call for it, as beginnings of words in a pattern, and what they are about.
_TOPICS = (
    ("api-contract-validation", rf"{_API}|endpoint|route|rest(?:ful|api)?(?![^\W_])", "an API"),
    ("db-migration-check", r"migration|schema|database|model", "a database"),
    (
        "security-scan",
        r"auth(?!or(?:s|ed|ing|ship)?(?![^\W_]))|security|password|token|encrypt",
        "security-sensitive code",
    ),
)


def checklist(levels: SkillLevels, agent: str) -> str:
    """At most ten lines of Markdown without a line break at the end; '' where there is nothing to invoke.

    No mandatory skill is left out: those that have no line of their own share the last one.
    """
    if fold_agent(agent) in _WITHOUT_CHECKLIST or not (levels.mandatory or levels.optional):
        return ""
    lines = [HEADING, ""]
    closing = [f"{_CONSIDER} {_named(levels.optional)}"] if levels.optional else []
    if levels.mandatory:
        lines.append(_MUST)
        if closing:
            closing.insert(0, "")
        room = MAX_LINES - len(lines) - len(closing)
        alone = len(levels.mandatory) if len(levels.mandatory) <= room else room - 1
        lines += [f'- [ ] `Skill(command: "{_name(skill)}")`' for skill in levels.mandatory[:alone]]
        if levels.mandatory[alone:]:
            lines.append(f"- [ ] and: {_named(levels.mandatory[alone:])}")
    return "\n".join([*lines, *closing])


def skills_section(spawn: Spawn, task: str) -> tuple[list[BlockCandidate], dict[str, Any]]:
    """What an agent must invoke, what its task suggests, and what the agent before it did not invoke; and the fields of
    an assembly that say so: who left out which skills, '' for nobody, and what was configured for whom."""
    team, primary, request, session = spawn.config.team, spawn.store.primary, spawn.request, spawn.session
    group_id, mode = None if spawn.group is None else spawn.group.id, request.testing_mode
    iteration = max(request.iteration, 0)
    previous = previous_agent(primary, session, group_id, spawn.agent, iteration, before_us=request.before)
    levels = skill_levels(primary, spawn.agent, team=team, session=session, testing_mode=mode)
    configured = [(f"skills of {spawn.agent}", one_line(levels.described))]
    parts = [checklist(levels, team.like(spawn.agent))]
    if suggested := suggest_skills(task, levels):
        parts.append("\n".join([SUGGESTED, "", *(f"- **{_name(skill)}**: {why}" for skill, why in suggested)]))
    left_out = ""
    if previous is not None:
        agent = previous.agent
        wanted = skill_levels(primary, agent, team=team, session=session, testing_mode=mode).mandatory
        if agent != spawn.agent:
            configured.append((f"skills of {agent}", one_line(SkillLevels(wanted).described)))
        missing = check_evidence(
            primary, session, agent, wanted, group=request.group, since_us=previous.since_us, before_us=request.before
        ).missing
        if missing:
            left_out = one_line(f"{agent}: {', '.join(missing)}")
            whose = f"mandatory for {one_line(agent)}"
            parts.append(f"Note: Previous agent did not invoke: {_named(missing)} ({whose}).")
    text = "\n\n".join(filter(None, parts))
    candidates: list[BlockCandidate] = []
    if text:
        item = Item("skills", ("checklist",), (spawn.prices.of(f"{text}\n"),), kind="skills")
        candidates.append(
            BlockCandidate(item, (IncludedSkills(f"{text}\n"),), (f"{text}\n",), "checklist", "asked for")
        )
    return candidates, {"missing_skills": left_out, "configured_skills": tuple(configured)}


def suggest_skills(task: str, levels: SkillLevels) -> list[Suggestion]:
    """The optional skills of an agent that words of its task call for; what it must invoke anyway is none."""
    wanted = [topic for topic in _TOPICS if topic[0] in levels.optional]
    if not wanted:
        return []
    import re  # noqa: PLC0415  start-up: few agents have optional skills that depend on the task

    # A word begins after anything that is no letter or digit, and at the hump of a name: user_model, getAuthToken.
    begin = r"(?:(?<![^\W_])|(?<=[a-z])(?=[A-Z]))"
    suggestions: list[Suggestion] = []
    for skill, beginnings, subject in wanted:
        found = re.search(rf"{begin}(?i:{beginnings})[^\W_]*", task)
        if found:
            suggestions.append(Suggestion(skill, f"the task involves {subject} ('{found[0][:40]}')"))
    return suggestions


def _named(skills: tuple[str, ...]) -> str:
    return ", ".join(f"`{_name(skill)}`" for skill in skills)


def _name(skill: str) -> str:
    """A name from a file that cannot leave the code span and the quotes around it."""
    return one_line(skill).replace("`", "'").replace('"', "'")
