"""The roles and types of a configuration file: read, merged, and refused in words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.agents import PackageType, Role
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team import checked_roles, checked_types


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "user" / "ctxrank").mkdir(parents=True)
    with make_store(tmp_path / "project") as opened:
        yield opened


def configure(store: Store, text: str, *, user: str = "") -> None:
    (Path(store.location.folder) / "config.yaml").write_text(text, encoding="utf-8")
    if user:
        (Path(store.location.project).parent / "user" / "ctxrank" / "config.yaml").write_text(user, encoding="utf-8")


def test_a_project_adds_to_the_users_roles_and_takes_the_place_of_one_of_the_same_name(store: Store) -> None:
    configure(
        store,
        "roles: {Reviewer: {like: qa_expert}, sre: {like: Tech Lead}}\n"
        "types: {RunBook: {like: handoff, for: reviewer}}\n",
        user="roles: {reviewer: {like: tech_lead, limit: 4}, tester: {like: qa_expert, limit: 0}}\n",
    )
    team = load_config(store).team
    assert team.roles == {"Reviewer": Role("qa_expert"), "sre": Role("tech_lead"), "tester": Role("qa_expert", 0)}
    assert team.types == {"runbook": PackageType("handoff", ("reviewer",))}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("roles: [reviewer]", "roles is"),
        ("roles: {reviewer: tech_lead}", "roles.reviewer is 'tech_lead'"),
        ("roles: {reviewer: {like: boss}}", "roles.reviewer.like is 'boss'"),
        ("roles: {reviewer: {limit: 3}}", "like is ''"),
        ("roles: {reviewer: {like: tech_lead, limit: many}}", "roles.reviewer.limit is 'many'"),
        ("roles: {reviewer: {like: tech_lead, limit: -1}}", "roles.reviewer.limit is '-1'"),
        ("roles: {reviewer: {like: tech_lead, share: 3}}", "has no 'share'"),
        ("roles: {Tech Lead: {like: developer}}", "is an agent already"),
        ("roles: {pm: {like: developer}}", "is an agent already"),
        ('roles: {"a\\nb\\u202e": {like: developer}}', "is no name"),
        ("types: {research: {like: handoff}}", "is a package type already"),
        ("types: {runbook: {like: poem}}", "types.runbook.like is 'poem'"),
        ("types: {runbook: {like: handoff, for: [boss]}}", "is for 'boss'"),
        ("types: {runbook: {like: handoff, for: 3}}", "types.runbook.for is '3'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_is_allowed(store: Store, text: str, said: str) -> None:
    configure(store, text)
    with pytest.raises(UsageError) as refused:
        load_config(store)
    assert said in refused.value.message and refused.value.hint


def test_a_name_of_a_role_has_at_most_sixty_characters() -> None:
    for length, is_name in ((60, True), (61, False)):
        roles = {" " + "r" * length: {"like": "developer", "limit": 1000}}
        if is_name:
            assert checked_roles(roles, "F") == {"r" * length: Role("developer", 1000)}
        else:
            with pytest.raises(UsageError, match="is no name"):
                checked_roles(roles, "F")
    with pytest.raises(UsageError, match=r"types\.a\.like is ''"):
        checked_types({"a": {}}, "types")
    assert checked_types({"A": {"like": " Handoff ", "for": ["pm", "qa"]}}, "F") == {
        "a": PackageType("handoff", ("pm", "qa"))
    }
