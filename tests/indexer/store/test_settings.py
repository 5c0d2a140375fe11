"""What each setting may be, what is kept of it, and what one file says over another: without a store."""

import pytest
from tables import each_row

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store import hook_settings
from ctxrank.indexer.store.hook_settings import DEFAULT_ROLES, HookSettings, checked_hooks
from ctxrank.indexer.store.settings import RANKING_RANGES, SETTINGS, check_apart
from ctxrank.indexer.store.wide_settings import WideSettings, wide_settings

_DAY_US = 86_400_000_000
_LEAST = {name: least for name, (least, _) in RANKING_RANGES.items()}
_MOST = {name: most for name, (_, most) in RANKING_RANGES.items()}
_NO_FOLDERS = ("notes", [" "], ["/etc"], ["a/../b"], ["a"] * 21)
_ALL_OFF = {"enabled": False, "keep": "", "learn": True}
_ALL_ON = {"enabled": True, "keep": "conversations", "learn": False}


@each_row(
    "key, given, kept",
    [
        *(("fts5", word, True) for word in (True, "on", " Yes ", "TRUE", 1, "1")),
        *(("fts5", word, False) for word in (False, "off", "No", "false", 0, "0")),
        ("redaction_mode", False, RedactionMode.OFF),
        ("redaction_mode", " BOTH ", RedactionMode.BOTH),
        ("token_safety_margin", 0, 0.0),
        ("token_safety_margin", "0.99", 0.99),
        ("retrieval_limits", {"developer": 0, "any": 1000}, {"developer": 0, "any": 1000}),
        ("ranking", _LEAST, _LEAST),
        ("ranking", _MOST, _MOST),
        ("ranking", {"k1": 2}, {"k1": 2.0}),
        ("ttl", {"event": "90d", "error": "never"}, {"event": 90 * _DAY_US, "error": None}),
        ("ttl", {"package": "3 iterations", "skill": "1 Iteration"}, {"package": -3, "skill": -1}),
        ("context_limits", {"Big-Model": 1000, "b": 100_000_000}, {"big-model": 1000, "b": 100_000_000}),
        ("block_files", "no", False),
        ("engine", "opensearch", "opensearch"),
        ("team", "host=log.example user=anna dbname=team", "host=log.example user=anna dbname=team"),
        ("team", "postgresql://anna@log.example/team", "postgresql://anna@log.example/team"),
        ("hooks", False, {"enabled": False}),
        ("hooks", "on", {"enabled": True}),
        ("hooks", {"keep": "off"}, {"keep": ""}),
        ("hooks", {"keep": False}, {"keep": ""}),
        ("hooks", {"keep": "conversations"}, {"keep": "conversations"}),
        ("hooks", {"spawn": "start", "spawn_tokens": 2500}, {"spawn": "start", "spawn_tokens": 2500}),
        ("hooks", {"folders": [f"notes/{n}" for n in range(20)]}, {"folders": tuple(f"notes/{n}" for n in range(20))}),
        ("hooks", {"folders": []}, {"folders": ()}),
        ("hooks", {"roles": {"Explore": "pm"}}, {"roles": {"Explore": "pm"}}),
    ],
)
def test_what_a_setting_may_be_and_what_is_kept_of_it(key: str, given: object, kept: object) -> None:
    assert SETTINGS[key].check(given, f"F: {key}") == kept
    if key == "ranking":
        assert all(type(value) is float for value in SETTINGS[key].check(given, "F").values())


@each_row(
    "key, given, named",
    [
        ("fts5", "perhaps", "F: fts5 is 'perhaps'"),
        ("fts5", 2, "F: fts5"),
        ("redaction_mode", "strong", "F: redaction_mode"),
        *(("token_safety_margin", wrong, "token_safety_margin") for wrong in (1, -0.01, "much", "nan", None)),
        ("retrieval_limits", 3, "retrieval_limits"),
        *(("retrieval_limits", {"pm": wrong}, "F: retrieval_limits.pm") for wrong in (-1, 1001, "many", True, 1.5)),
        *(("ranking", {n: low - 0.01}, f"ranking.{n}") for n, (low, _) in RANKING_RANGES.items()),
        *(("ranking", {n: high + 0.01}, f"ranking.{n}") for n, (_, high) in RANKING_RANGES.items()),
        ("ranking", {"k1": True}, "ranking.k1"),
        ("ranking", {"k2": 1}, "F: ranking has no 'k2'"),
        *(("ttl", {"event": wrong}, "F: ttl.event") for wrong in ("0 iterations", "3 rounds", "x iterations", "9", "")),
        ("ttl", {"error": "3 iterations"}, "ttl.error"),
        ("ttl", {"file": "9d"}, "ttl has no 'file'"),
        *(("context_limits", {"m": wrong}, "context_limits.m") for wrong in (999, 100_000_001, "1000")),
        ("engine", "solr", "engine"),
        *(("team", wrong, "without a password") for wrong in (7, "host=h password=x", "postgresql://a:x@h/team")),
        ("hooks", {"keep": "all"}, "hooks.keep"),
        ("hooks", {"keep": True}, "hooks.keep"),
        ("hooks", {"spawn": "end"}, "hooks.spawn"),
        *(("hooks", {"spawn_tokens": wrong}, "hooks.spawn_tokens") for wrong in (-1, 2501, 1.5)),
        *(("hooks", {"folders": wrong}, "hooks.folders") for wrong in _NO_FOLDERS),
        ("hooks", {"rolls": {}}, "hooks has no 'rolls'"),
        ("hooks", "perhaps", "hooks.enabled is 'perhaps'"),
    ],
)
def test_what_a_setting_may_not_be_is_said_with_its_name_and_a_way_out(key: str, given: object, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        SETTINGS[key].check(given, f"F: {key}")
    assert named in refused.value.message and refused.value.hint


@each_row(
    "key, known, given, kept",
    [
        ("retrieval_limits", {"pm": 1, "qa": 2}, {"pm": 3}, {"pm": 3, "qa": 2}),
        ("ttl", {"event": 5, "error": 6}, {"event": None, "skill": 7}, {"error": 6, "skill": 7}),
        ("hooks", _ALL_OFF, _ALL_ON, {"enabled": False, "keep": "", "learn": False, "roles": {}}),
        (
            "hooks",
            {"roles": {"a": "pm", "b": "pm"}},
            {"roles": {"a": "qa"}, "spawn": "start"},
            {"roles": {"a": "qa", "b": "pm"}, "spawn": "start"},
        ),
        ("roles", {"Code Reviewer": 1, "qa2": 2}, {"code-reviewer": 3}, {"code-reviewer": 3, "qa2": 2}),
    ],
)
def test_what_a_later_file_says_comes_over_what_an_earlier_one_said(
    key: str, known: dict[str, object], given: dict[str, object], kept: dict[str, object]
) -> None:
    merge = SETTINGS[key].merge
    assert merge is not None and merge(known, given) == kept


def test_what_is_read_apart_is_refused_before_a_file_is_kept() -> None:
    check_apart({"team": "host=log.example", "fts5": "perhaps", "unheard": 1}, "F")  # the others are checked later
    with pytest.raises(UsageError, match="F: team"):
        check_apart({"team": "password=x"}, "F")
    assert {key for key, setting in SETTINGS.items() if setting.is_apart} == {"redaction", "team", "wide"}
    assert {key for key, setting in SETTINGS.items() if setting.is_users} == {"team", "wide"}


@pytest.mark.parametrize("off", [frozenset[str](), frozenset({"hooks"}), frozenset({"notes"})])
def test_the_machine_switches_off_hooks_or_the_folders_of_notes(
    monkeypatch: pytest.MonkeyPatch, off: frozenset[str]
) -> None:
    monkeypatch.setattr(hook_settings, "switched_off", lambda: off)
    settings = hook_settings.hook_settings(checked_hooks({"spawn_tokens": 7, "roles": {"main": "pm"}}, "F"))
    assert settings == HookSettings(
        enabled="hooks" not in off,
        spawn_tokens=7,
        folders=() if "notes" in off else ("notes",),
        roles={**DEFAULT_ROLES, "main": "pm"},
    )
    assert hook_settings.hook_settings({"enabled": False}).enabled is False


def test_the_nodes_of_a_cluster_are_shown_without_how_they_are_asked() -> None:
    assert WideSettings(("https://a:9200", "http://b:9201")).hosts == "a:9200, b:9201"


def test_an_index_of_which_only_the_nodes_are_named_has_one_shard_no_copies_and_the_embedded_one_next_to_it() -> None:
    named = WideSettings(("https://a:9200",))
    assert (named.shards, named.replicas, named.keeps_local) == (1, 0, True)


@pytest.mark.needs("opensearch")
def test_the_environment_names_nodes_before_a_file_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXRANK_WIDE", raising=False)
    assert wide_settings(None, "x", keeps_local=True) is None
    section = {"urls": ["http://127.0.0.1:9200"], "shards": 2}
    of_a_file = wide_settings(section, "x", keeps_local=False)
    assert of_a_file == WideSettings(("http://127.0.0.1:9200",), shards=2, keeps_local=False)
    monkeypatch.setenv("CTXRANK_WIDE", "http://a:9200, http://b:9200")
    assert wide_settings(section, "x", keeps_local=True) == WideSettings(("http://a:9200", "http://b:9200"), shards=1)
    monkeypatch.setenv("CTXRANK_WIDE", "none")
    with pytest.raises(UsageError, match="CTXRANK_WIDE: wide"):
        wide_settings(section, "x", keeps_local=True)
