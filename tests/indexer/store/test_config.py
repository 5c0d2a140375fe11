"""Settings: which source wins, what a wrong value is told, and what is parsed again."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from builders import found, make_store, open_again, run_child, save

from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.blocklist import block_secrets
from ctxrank.indexer.store.config import RETRIEVAL_LIMITS, load_config, says_no_fts5
from ctxrank.indexer.store.config_file import read_config_file
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import WideSettings
from ctxrank.indexer.text.frontmatter import read_frontmatter

LONG_AGO = 1_600_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def settle(path: Path, text: str, at: int = LONG_AGO) -> Path:
    """Write a file as it would be long after its last change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def project(store: Store, text: str, at: int = LONG_AGO) -> Path:
    return settle(Path(store.location.folder) / "config.yaml", text, at)


def user(text: str) -> Path:
    return settle(Path(os.environ["XDG_CONFIG_HOME"]) / "ctxrank" / "config.yaml", text)


def predecessor(store: Store, **section: object) -> Path:
    path = Path(store.location.root) / "bazinga" / "skills_config.json"
    return settle(path, json.dumps({"context_engineering": section}))


def test_without_any_file_the_defaults_hold(store: Store) -> None:
    config = load_config(store)
    assert (config.fts5, config.redaction_mode, config.token_safety_margin) == (True, RedactionMode.PATTERN_ONLY, 0.15)
    assert config.retrieval_limits == RETRIEVAL_LIMITS
    assert (config.enable_context_assembler, config.notes) == (True, ())


def test_every_key_is_read(store: Store) -> None:
    project(
        store,
        "fts5: off\nredaction_mode: both\ntoken_safety_margin: 0.2\nenable_context_assembler: no\n"
        "retrieval_limits:\n  developer: 7\n",
    )
    config = load_config(store)
    assert (config.fts5, config.redaction_mode, config.token_safety_margin) == (False, RedactionMode.BOTH, 0.2)
    assert config.enable_context_assembler is False
    assert config.retrieval_limits == {**RETRIEVAL_LIMITS, "developer": 7}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("fts5: perhaps", "fts5"),
        ("enable_context_assembler: 7", "enable_context_assembler"),
        ("redaction_mode: strong", "redaction_mode"),
        ("token_safety_margin: 1", "token_safety_margin"),
        ("token_safety_margin: .nan", "token_safety_margin"),
        ("token_safety_margin: much", "token_safety_margin"),
        ("retrieval_limits: 3", "retrieval_limits"),
        ("context_limits: 3", "context_limits"),
        ("context_limits: {big: 10}", "context_limits.big"),
        ("block_files: maybe", "block_files"),
        ("retrieval_limits: {developer: -1}", "developer"),
        ("retrieval_limits: {developer: 1001}", "developer"),
        ("retrieval_limits: {developer: many}", "developer"),
        ("retrieval_limits: {developer: true}", "developer"),
        ("- a list", "settings"),
        ("fts5: [", "parsed"),
        ("2020-01-01: a key that is a date", "parsed"),
        ("a: &a [x]\nb: *a", "aliases"),
        ("!!python/object/apply:os.system ['true']", "parsed"),
        ("x: " + "[" * 5000, "parsed"),
    ],
)
def test_a_wrong_value_is_refused_with_its_file_and_key(store: Store, text: str, key: str) -> None:
    path = project(store, text)
    with pytest.raises(UsageError) as refused:
        load_config(store)
    assert str(path) in refused.value.message
    assert key in refused.value.message
    assert refused.value.hint


def test_aliases_cannot_blow_up_a_small_file(store: Store) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    project(store, "\n".join(lines))
    with pytest.raises(UsageError, match="aliases"):
        load_config(store)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_not_a_file_is_refused_at_once(store: Store, make: Callable[[str], None]) -> None:
    make(os.path.join(store.location.folder, "config.yaml"))
    with pytest.raises(CtxrankError, match="not a file"):
        load_config(store)


def test_a_file_that_is_too_large_is_refused(store: Store) -> None:
    project(store, "# " + "x" * 300_000)
    with pytest.raises(UsageError, match="larger than"):
        load_config(store)


def test_an_unknown_key_is_a_note(store: Store) -> None:
    project(store, "colour: red\n")
    (note,) = load_config(store).notes
    assert "'colour'" in note
    assert "token_safety_margin" in note


def test_the_nearer_source_wins(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    margins = [load_config(store).token_safety_margin]
    user("token_safety_margin: 0.1")
    margins.append(load_config(store).token_safety_margin)
    predecessor(store, token_safety_margin=0.2)
    margins.append(load_config(store).token_safety_margin)
    project(store, "token_safety_margin: 0.3")
    margins.append(load_config(store).token_safety_margin)
    monkeypatch.setenv("CTXRANK_TOKEN_SAFETY_MARGIN", "0.4")
    margins.append(load_config(store).token_safety_margin)
    assert margins == [0.15, 0.1, 0.2, 0.3, 0.4]


def test_a_wrong_value_in_the_environment_is_said_to_be_from_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_FTS5", "maybe")
    with pytest.raises(UsageError, match="environment"):
        load_config(store)


@pytest.mark.parametrize(
    ("mine", "theirs", "holds"),
    [
        ("pattern_only", "off", "pattern_only"),
        ("both", "entropy", "both"),
        ("both", "off", "both"),
        ("pattern_only", "entropy", "both"),
        ("entropy", "pattern_only", "both"),
        ("pattern_only", "both", "both"),
        ("off", "pattern_only", "pattern_only"),
        ("off", "off", "off"),
    ],
)
def test_a_project_may_redact_more_than_its_user_but_never_less(
    store: Store, mine: str, theirs: str, holds: str
) -> None:
    user(f"redaction_mode: {mine}")
    project(store, f"redaction_mode: {theirs}")
    config = load_config(store)
    assert config.redaction_mode.value == holds
    assert bool(config.notes) == (holds != theirs)


def test_the_predecessors_file_cannot_weaken_redaction_either(store: Store) -> None:
    predecessor(store, redaction_mode="off")
    assert load_config(store).redaction_mode == RedactionMode.PATTERN_ONLY


def test_redaction_is_switched_off_by_the_users_own_environment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_REDACTION_MODE", "off")
    assert load_config(store).redaction_mode == RedactionMode.OFF


RULE = "{name: acme-key, pattern: 'ACME-[0-9a-f]{8}', keywords: [acme-]}"


def test_the_mode_carries_the_rules_of_both_files(store: Store) -> None:
    user(f"redaction: {{rules: [{RULE}], allow: [ACME-00000000]}}")
    project(store, "redaction_mode: both\nredaction: {rules: [{name: case, pattern: 'case-[0-9]{6}'}]}")
    mode = load_config(store).redaction_mode
    assert mode.value == "both"
    clean = redact("ACME-00000000 ACME-deadbeef case-123456", mode).text
    assert clean == "ACME-00000000 [REDACTED:acme-key] [REDACTED:case]"


def test_a_project_cannot_allow_what_its_user_does_not(store: Store) -> None:
    user(f"redaction: {{rules: [{RULE}]}}")
    project(store, "redaction: {allow: [ACME-deadbeef]}")
    config = load_config(store)
    assert redact("ACME-deadbeef", config.redaction_mode).text == "[REDACTED:acme-key]"
    (note,) = config.notes
    assert note.endswith("redaction.allow is ignored: a project cannot weaken the user's.")


def test_without_rules_the_mode_is_a_plain_one(store: Store) -> None:
    project(store, "redaction: {}")
    assert load_config(store).redaction_mode == RedactionMode.PATTERN_ONLY


@pytest.mark.parametrize("pattern", ["(", "a(?!b)", "(?:(?:a|b|ab){1,30}){1,30}z", "x*"])
def test_a_bad_rule_is_refused_again_and_again(store: Store, pattern: str) -> None:
    path = project(store, f"redaction: {{rules: [{{name: mine, pattern: '{pattern}'}}]}}")
    for _ in range(2):
        with pytest.raises(UsageError, match=r"redaction rule 1 \(mine\)") as refused:
            load_config(store)
        assert str(path) in refused.value.message
        assert refused.value.hint


_IMPORTS = """
import sys
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.opening import open_store

with open_store(sys.argv[1]) as store:
    load_config(store)
    print("ctxrank.indexer.redaction.user_rules" in sys.modules)
"""


def test_a_configuration_without_rules_does_not_load_what_reads_them(store: Store) -> None:
    project(store, "token_safety_margin: 0.1")
    assert run_child(_IMPORTS, store.location.primary).strip() == "False"
    project(store, f"redaction: {{rules: [{RULE}]}}", at=LONG_AGO + 1)
    assert run_child(_IMPORTS, store.location.primary).strip() == "True"


def test_the_predecessors_settings_are_read_as_they_are(store: Store) -> None:
    predecessor(
        store, enable_context_assembler=False, enable_fts5=False, retrieval_limits={"qa_expert": 9}, other="ignored"
    )
    config = load_config(store)
    assert config.enable_context_assembler is False
    assert config.retrieval_limits["qa_expert"] == 9
    assert config.notes == ()


def test_the_predecessors_no_to_fts5_is_reported_and_not_obeyed(store: Store) -> None:
    predecessor(store, enable_fts5=False, fts5="off")
    assert says_no_fts5(store)
    assert load_config(store).fts5 is True


@pytest.mark.parametrize("source", ["file", "environment"])
def test_fts5_can_be_switched_off(store: Store, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    save(store, "a.md", "zebra")
    if source == "file":
        project(store, "fts5: off\n")
    else:
        monkeypatch.setenv("CTXRANK_FTS5", "off")
    answer = found(store, "zebra")
    assert ([hit.id for hit in answer.hits], answer.engine, answer.outcome) == (["package:1"], "heuristic", "degraded")
    assert answer.reason == "FTS5 is switched off in the configuration"


def test_a_change_is_noticed(store: Store) -> None:
    project(store, "token_safety_margin: 0.1")
    assert load_config(store).token_safety_margin == 0.1
    path = project(store, "token_safety_margin: 0.2", at=LONG_AGO + 1)
    assert load_config(store).token_safety_margin == 0.2
    path.unlink()
    assert load_config(store).token_safety_margin == 0.15


def test_two_changes_within_a_tick_of_the_clock_are_both_noticed(store: Store) -> None:
    """Same size, same mtime: only a cache that waits until the file has settled can tell."""
    just_now = int(time.time())
    for margin in ("0.1", "0.2"):
        project(store, f"token_safety_margin: {margin}", at=just_now)
        assert load_config(store).token_safety_margin == float(margin)


_LOADS = """
import sys
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.opening import open_store

with open_store(sys.argv[1]) as store:
    print(load_config(store).token_safety_margin, "yaml" in sys.modules)
"""


def test_a_file_that_has_not_changed_is_not_parsed_again(store: Store) -> None:
    project(store, "token_safety_margin: 0.1")
    assert run_child(_LOADS, store.location.primary).split() == ["0.1", "True"]
    assert run_child(_LOADS, store.location.primary).split() == ["0.1", "False"]


def test_a_locked_store_is_not_waited_for_to_cache(store: Store) -> None:
    project(store, "token_safety_margin: 0.1")
    with open_again(store) as other, other.write():
        assert load_config(store).token_safety_margin == 0.1
    assert store.primary.execute("SELECT count(*) FROM config_cache").fetchone() == (0,)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"x": {"lint": 1, "lint": 2}}'),
        ("a.yaml", "x:\n  lint: 1\n  lint: 2\n"),
        ("a.yaml", "lint: 1\n'lint': 2\n"),
    ],
)
def test_a_key_that_stands_twice_is_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=rf"{name} has the key 'lint' twice in one mapping\.$"):
        read_config_file(str(tmp_path / name))
    (tmp_path / name).write_text("lint: 1\n<<: {other: 2}\n" if name.endswith("yaml") else '{"a": {"a": {}}}')
    assert read_config_file(str(tmp_path / name))[0]


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_values_lie_at_most_fifty_levels_deep_whatever_stands_before_them(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for beside in ("", "[[[1]]], " * 30):
        for depth, is_read in ((49, True), (50, False)):  # the mapping is one of them
            path.write_text(f'{{"x": [{beside}{"[" * (depth - 1)}{"]" * (depth - 1)}]}}')
            if is_read:
                assert read_config_file(str(path))[0]
            else:
                with pytest.raises(UsageError, match="more than 50 levels deep"):
                    read_config_file(str(path))


def test_what_is_too_deep_is_refused_by_its_levels_however_much_was_read_before(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"x: [{'1, ' * 500}{'[' * 400}{']' * 400}]")
    with pytest.raises(UsageError, match="more than 50 levels deep"):
        read_config_file(str(path))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("a.yaml", "a: ["),
        *(("a.yaml", f"a: !!{tag}") for tag in ("bool perhaps", 'int ""', 'float ""', "timestamp soon", "float x")),
    ],
)
def test_why_a_file_cannot_be_parsed_is_a_sentence(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=r"cannot be parsed: .*[^.]\.$"):
        read_config_file(str(tmp_path / name))


DEEP = {
    "flow": "a: " + "[" * 5000 + "]" * 5000,
    "mappings": "a: " + "{a: " * 5000 + "}" * 5000,
    "dashes": "a:\n" + "- " * 5000 + "x",
    "lines": "\n".join(" " * depth + "a:" for depth in range(700)),
    "questions": "? " * 5000 + "x",
    "open": "[" * 5000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_file_of_any_depth_is_refused_in_words_and_soon(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "config.json").write_text('{"a": ' * 60 + "1" + "}" * 60)
    started = time.monotonic()
    for name in ("config.yaml", "config.json"):
        with pytest.raises(UsageError, match="more than 50 levels deep"):
            read_config_file(str(tmp_path / name))
    read_frontmatter(f"---\n{text}\n---\n")
    assert time.monotonic() - started < 4


def test_a_projects_file_is_opened_beneath_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "own.yaml").write_text("a: 1")
    (project / "real.yaml").write_text("a: 2")
    (project / "inside.yaml").symlink_to("real.yaml")
    (project / "outside.yaml").symlink_to(tmp_path / "own.yaml")
    assert read_config_file(str(project / "inside.yaml"), within=str(project))[0] == {"a": 2}
    assert read_config_file(str(project / "outside.yaml"))[0] == {"a": 1}
    with pytest.raises(UsageError, match="is a link that leaves"):
        read_config_file(str(project / "outside.yaml"), within=str(project))


@pytest.mark.parametrize("kind", ["pipe", "device", "sparse", "circle"])
def test_a_configuration_that_is_no_file_is_said_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(10 * 1024**3)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)
    started = time.monotonic()
    for within in (None, str(tmp_path)):
        with pytest.raises(CtxrankError):
            read_config_file(str(path), within=within)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_file_has_at_most_256_kib_and_fifty_levels(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for depth, size, why in ((49, 0, ""), (50, 0, "50 levels"), (1, 256 * 1024, ""), (1, 256 * 1024 + 1, "256 KiB")):
        text = f'{{"a": {"[" * depth}1{"]" * depth}}}'
        path.write_text(text.ljust(size))
        if why:
            with pytest.raises(UsageError, match=why):
                read_config_file(str(path))
        else:
            assert read_config_file(str(path))[1] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_engine_is_the_one_that_is_named(store: Store) -> None:
    config = load_config(store)
    assert (config.asked_cluster, config.has_index, config.redaction_mode.rules) == (None, True, None)
    wide = WideSettings(("http://127.0.0.1:9",))
    for fts5, engine, cluster, has_index in (
        (True, "fts5", None, True),
        (False, "fts5", None, False),
        (True, "opensearch", wide, True),
        (False, "opensearch", wide, True),
    ):
        named = config._replace(fts5=fts5, engine=engine, wide=wide)
        assert (named.asked_cluster, named.has_index) == (cluster, has_index)


@pytest.mark.parametrize("mode", ["both", "off"])
def test_what_was_purged_is_taken_out_in_every_mode_and_rules_only_where_redaction_is_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    user("redaction: {rules: [{name: acme, pattern: 'acme[0-9]+', label: '[ACME]'}]}\n")
    monkeypatch.setenv("CTXRANK_REDACTION_MODE", mode)
    secret = "".join(f"q{number}" for number in range(8))
    with store.write() as change:
        block_secrets(change.connection, [secret])
    clean = redact(f"a {secret} and acme17", load_config(store).redaction_mode).text
    assert clean == ("a [FORGOTTEN] and [ACME]" if mode == "both" else "a [FORGOTTEN] and acme17")


def test_an_engine_without_a_cluster_is_noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project(store, "engine: opensearch\n")
    assert any("no cluster is named" in note for note in load_config(store).notes)
    monkeypatch.setenv("CTXRANK_WIDE", "http://127.0.0.1:9")
    config = load_config(store)
    assert config.wide is not None and not any("cluster" in note for note in config.notes)


def test_what_is_the_users_to_say_is_refused_of_a_project(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXRANK_TEAM", raising=False)
    path = project(store, "team: postgresql://db.example/log\nwide: {urls: ['http://127.0.0.1:9']}\n")
    config = load_config(store)
    assert [note.partition(": ")[2] for note in config.notes] == [
        f"'{key}' is refused: it is the user's to say, not a project's." for key in ("team", "wide")
    ]
    assert config.notes[0].startswith(str(path)) and (config.team_dsn, config.wide) == ("", None)
    user("team: postgresql://db.example/log\n")
    assert load_config(store).team_dsn == "postgresql://db.example/log"
    monkeypatch.setenv("CTXRANK_TEAM", "postgresql://other.example/log")
    assert load_config(store).team_dsn == "postgresql://other.example/log"


@pytest.mark.parametrize("text", ["- a\n- b\n", "word\n", "3\n"])
def test_a_file_that_is_no_mapping_holds_no_settings(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match="does not hold settings"):
        read_config_file(str(path))
    path.write_text("# nothing\n")
    assert read_config_file(str(path))[0] is None
