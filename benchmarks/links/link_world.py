"""Worlds to measure on: artifacts, tasks, and what each task requires; links can be deleted, tasks paraphrased.

What a task requires is known by construction: everything that its complete links reach. Deleting links then takes
away the way, and not the need. A generated world has components with a vocabulary of their own, each with specs,
decisions and norms; norms of the whole project, which speak of no component; tasks about one or two components.
"""

import os
import random
import re
from collections.abc import Iterable
from typing import NamedTuple

from link_words import CONCEPTS, Prose

from ctxrank.ranking.retrieval.query import STOPWORDS

_FOLDERS = {"SPEC": "system/specs", "DEC": "system/rationale", "NORM": "system/norms", "TASK": "work/tasks"}
_LISTS = {"SPEC": "specs", "DEC": "decisions", "NORM": "norms"}
_FOLLOWED = {"TASK": ("SPEC", "DEC", "NORM"), "SPEC": ("SPEC", "DEC", "NORM"), "DEC": ("DEC",), "NORM": ()}
MOST_KEPT = 0.3
_OTHER_FORMS = {form: [other for other in forms if other != form] for forms in CONCEPTS for form in forms}


class Artifact(NamedTuple):
    """One file to be."""

    id: str
    title: str
    links: tuple[str, ...]
    globs: tuple[str, ...]
    body: str

    @property
    def prefix(self) -> str:
        """SPEC, DEC, NORM or TASK."""
        return self.id.split("-", maxsplit=1)[0]


class World(NamedTuple):
    """All artifacts with complete links, and what each task requires."""

    name: str
    artifacts: tuple[Artifact, ...]
    required: dict[str, frozenset[str]]


class Shape(NamedTuple):
    """How large a generated world is."""

    components: int = 40
    global_norms: int = 16
    tasks: int = 60


def generated(shape: Shape, seed: int) -> World:
    """A world of this shape."""
    prose = Prose(seed)
    pick = prose.random
    layers = ("api", "jobs", "store", "ui")
    norms = [
        Artifact(
            f"NORM-ALL-{number:03}", f"Rule {number} of every {layers[number % 4]}", (),
            (f"src/*/{layers[number % 4]}/**",) if number < 8 else (),
            _body(prose, [prose.concept() for _ in range(3)], _length(prose, 150)),
        )
        for number in range(shape.global_norms)
    ]  # fmt: skip
    artifacts: list[Artifact] = list(norms)
    components: list[tuple[list[int], list[str]]] = []
    for number in range(shape.components):
        topic = prose.topic(9)
        name = f"C{number:02}"
        decisions = [f"DEC-{name}-{at:03}" for at in range(pick.randint(3, 5))]
        own = [f"NORM-{name}-{at:03}" for at in range(pick.randint(1, 2))]
        specs = [f"SPEC-{name}-{at:03}" for at in range(pick.randint(3, 4))]
        for at, id_ in enumerate(decisions):
            earlier = tuple(decisions[:1]) if at == 2 else ()
            artifacts.append(_made(prose, id_, topic, earlier, (), 220))
        for at, id_ in enumerate(own):
            artifacts.append(_made(prose, id_, topic, (), (f"src/{name.lower()}/**",) if at == 0 else (), 150))
        for id_ in specs:
            layer = pick.choice(layers)
            general = [norm.id for norm in norms if norm.globs and layer in norm.globs[0]][:1]
            general += pick.sample([norm.id for norm in norms if not norm.globs], 1)
            links = (*pick.sample(decisions, 2), pick.choice(own), *general)
            artifacts.append(_made(prose, id_, topic, links, (f"src/{name.lower()}/{layer}/**",), 450))
        components.append((topic, specs))
    required: dict[str, frozenset[str]] = {}
    for number in range(shape.tasks):
        chosen = pick.sample(components, pick.choice((1, 1, 2)))
        links = tuple(spec for _, specs in chosen for spec in pick.sample(specs, 2 if len(chosen) == 1 else 1))
        topic = [concept for concepts, _ in chosen for concept in concepts]
        artifacts.append(_made(prose, f"TASK-{number:03}", topic, links, (), 90))
    by_id = {one.id: one for one in artifacts}
    for one in artifacts:
        if one.prefix == "TASK":
            required[one.id] = reached(by_id, one.id)
    return World("generated", tuple(artifacts), required)


def reached(by_id: dict[str, Artifact], task: str) -> frozenset[str]:
    """What complete links reach from a task."""
    waiting, seen = [task], {task}
    while waiting:
        source = by_id[waiting.pop()]
        for id_ in source.links:
            if id_ not in seen and by_id[id_].prefix in _FOLLOWED[source.prefix]:
                seen.add(id_)
                waiting.append(id_)
    return frozenset(seen - {task})


def without_links(world: World, share: float, seed: int) -> World:
    """The same world with a share of all its links deleted; what is required stays.

    With one seed a larger share deletes what a smaller one does, and more.
    """
    places = [(one.id, link) for one in world.artifacts for link in one.links]
    random.Random(seed).shuffle(places)
    gone = set(places[: round(share * len(places))])
    return world._replace(
        artifacts=tuple(
            one._replace(links=tuple(link for link in one.links if (one.id, link) not in gone))
            for one in world.artifacts
        )
    )


def paraphrased(world: World, seed: int) -> World:
    """The same world with its tasks said otherwise: at most MOST_KEPT of their content words stay.

    A concept is replaced by one of its other forms, a content word without one is left out.
    """
    chance = random.Random(seed)
    return world._replace(
        artifacts=tuple(_paraphrase(one, chance) if one.prefix == "TASK" else one for one in world.artifacts)
    )


def content_words(text: str) -> set[str]:
    """The words of a text that are no stop words, folded."""
    return {word for word in re.findall(r"[a-z][a-z-]+", text.lower()) if word not in STOPWORDS}


def kept_share(world: World, other: World) -> float:
    """The largest share of a task's content words that its paraphrase has."""
    texts = {one.id: f"{one.title} {one.body}" for one in other.artifacts}
    tasks = [(content_words(f"{one.title} {one.body}"), content_words(texts[one.id])) for one in world.artifacts
             if one.prefix == "TASK"]  # fmt: skip
    return max(len(before & after) / len(before) for before, after in tasks)


def write_world(folder: str, world: World) -> None:
    """The tree on disk, with links in lists by type."""
    for one in world.artifacts:
        path = os.path.join(folder, ".contextia", _FOLDERS[one.prefix], f"{one.id.lower()}.md")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join((*_frontmatter(one), f"# {one.title}", "", one.body, "")))
        os.utime(path, (1_700_000_000, 1_700_000_000))  # old enough for its stat to prove its content
    with open(os.path.join(folder, ".contextia", "system", "identity.md"), "w", encoding="utf-8") as file:
        file.write("# A shop\n\nSells things, in several services and one repository.\n")


def _frontmatter(one: Artifact) -> Iterable[str]:
    yield from ("---", f"id: {one.id}", f"title: {one.title}")
    if one.prefix in ("SPEC", "TASK"):
        yield "status: " + ("open" if one.prefix == "TASK" else "current")
    if one.globs:
        yield f"{'scope' if one.prefix == 'NORM' else 'paths'}: [{', '.join(repr(glob) for glob in one.globs)}]"
    if one.links:
        yield "links:"
        for prefix, name in _LISTS.items():
            ids = [id_ for id_ in one.links if id_.startswith(f"{prefix}-")]
            if ids:
                yield f"  {name}: [{', '.join(ids)}]"
    yield "---"


def _made(
    prose: Prose, id_: str, topic: list[int], links: tuple[str, ...], globs: tuple[str, ...], median: int
) -> Artifact:
    """An artifact about some concepts of a topic, with a first section and a second."""
    about = prose.random.sample(topic, min(len(topic), 6))
    return Artifact(id_, prose.title(about), links, globs, _body(prose, about, _length(prose, median)))


def _length(prose: Prose, median: int) -> int:
    """Words of a body: some are three times as long as most."""
    return round(median * prose.random.lognormvariate(0, 0.6))


def _body(prose: Prose, topic: list[int], words: int) -> str:
    first = min(words, prose.random.randint(20, 60))
    rest = f"\n\n## And\n\n{prose.paragraph(topic, words - first)}" if words > first else ""
    return prose.paragraph(topic, first) + rest


def _paraphrase(one: Artifact, chance: random.Random) -> Artifact:
    words = sorted(content_words(f"{one.title} {one.body}"))
    chance.shuffle(words)
    kept: set[str] = set(words[: int(MOST_KEPT * len(words))])
    said = {word: word if word in kept else _other(word, set(words), chance) for word in words}

    def replaced(found: re.Match[str]) -> str:
        return said.get(found[0].lower(), found[0])

    title, body = (re.sub(r"[A-Za-z][a-z-]+", replaced, text) for text in (one.title, one.body))
    title, body = " ".join(title.split()), "\n".join(" ".join(line.split()) for line in body.split("\n"))
    return one._replace(title=title or one.id, body=body)


def _other(word: str, words: set[str], chance: random.Random) -> str:
    """Another form of a word that the text does not hold already; '' for none."""
    forms = [form for form in _OTHER_FORMS.get(word, ()) if not content_words(form) & words]
    return chance.choice(forms) if forms else ""
