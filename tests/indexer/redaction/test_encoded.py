"""A purged secret in another spelling: base64 at each of its alignments, percent signs, the escapes of JSON."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from builders import make_store, save
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.redaction.encoded import find_in_any_encoding
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.blocklist import Blocklist
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store

SECRET = "Zq7/" * 3 + '"K v+é'
SHORT = "h7" + "untE"


def spans(text: str, secret: str) -> list[tuple[int, int]]:
    def find(part: str) -> Iterator[tuple[int, int]]:
        at = part.find(secret)
        if at >= 0:
            yield at, at + len(secret)

    return sorted(set(find_in_any_encoding(text, find)))


def spellings(secret: str) -> list[str]:
    data = secret.encode()
    coded = [
        code(b"u:x"[:before] + data) for before in range(4) for code in (base64.b64encode, base64.urlsafe_b64encode)
    ]
    texts = [one.decode() for one in coded]
    return [
        *texts, *(text.rstrip("=") for text in texts), quote(secret, safe=""), quote(secret),
        re.sub("%..", lambda sign: sign[0].lower(), quote(secret)), quote_plus(secret),
        quote(secret, safe="!'()*~"), json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(secret)[1:-1].replace("/", "\\/"),
    ]  # fmt: skip


@each_row("secret", [SECRET, SHORT])
@each_row("frame", ["{}", "Authorization: Basic {}", "a={}&b=1", "x/{}/y", "[{}]", "Ü {} \\u00fc", "ab%{}"])
def test_every_spelling_is_found_wherever_it_stands(secret: str, frame: str) -> None:
    for spelling in spellings(secret):
        text = frame.format(spelling)
        assert spans(text, secret), text


def test_what_is_found_is_the_secret_and_nothing_before_or_behind_it() -> None:
    coded = base64.b64encode(f"user:{SHORT}\n".encode()).decode()
    assert spans(f"Basic {coded}", SHORT) == [(12, 21)]  # five bytes before it are six letters and a part of one
    assert spans(f"ab/{coded}", SHORT) == [(9, 18)]  # a run that begins within a quartet
    line = json.dumps({"user": "é", "password": f'{SHORT}"'})
    assert [line[start:end] for start, end in spans(line, f'{SHORT}"')] == [f'{SHORT}\\"']
    path = f"/a%20b/{quote(SECRET, safe='')}/c"
    assert [path[start:end] for start, end in spans(path, SECRET)] == [quote(SECRET, safe="")]


_SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=6, max_size=30)


def test_its_padding_goes_with_it() -> None:
    coded = base64.b64encode(b"a" + SHORT.encode()).decode()
    assert coded.endswith("==")
    assert spans(coded, SHORT) == [(1, len(coded))]


@settings(max_examples=examples(300))
@given(st.text(max_size=30), _SECRETS, st.text(max_size=30))
def test_a_secret_in_the_middle_of_an_encoded_text_is_found(before: str, secret: str, behind: str) -> None:
    data = f"{before}{secret}{behind}".encode("utf-8", "replace")
    assert spans(base64.b64encode(data).decode(), secret)
    assert spans(base64.urlsafe_b64encode(data).decode().rstrip("="), secret)
    assert spans(quote(data, safe=""), secret)
    assert spans(json.dumps(f"{before}{secret}{behind}"), secret)


@settings(max_examples=examples(300))
@given(st.text(st.sampled_from('aZ09+/-_=%2\\u"\n é\ud83d'), max_size=80))
def test_no_text_is_too_odd_and_every_place_lies_within_it(text: str) -> None:
    def everything(part: str) -> Iterator[tuple[int, int]]:
        yield from ((at, at + 1) for at in range(len(part)))

    assert all(0 <= start < end <= len(text) for start, end in find_in_any_encoding(text, everything))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def texts_of(store: Store) -> str:
    package = store.primary.execute("SELECT group_concat(summary) FROM packages").get
    thoughts = store.primary.execute("SELECT group_concat(content) FROM reasoning").get
    events = store.primary.execute("SELECT group_concat(payload) FROM events").get
    bodies = store.primary.execute("SELECT group_concat(title || body) FROM documents").get
    return f"{package} {thoughts} {events} {bodies}"


@pytest.mark.parametrize("spelling", spellings(SECRET))
def test_a_purge_takes_it_out_of_texts_and_keeps_it_out(store: Store, spelling: str) -> None:
    save(store, "a.md", f"It says {spelling} here.\n", summary=f"About {spelling}.")
    with store.write() as change:
        record_event(change, 1, None, "note", json.dumps([f"<{spelling}>"]))
    forget_secrets(store, [SECRET], RedactionMode.OFF)
    assert spelling not in texts_of(store) and texts_of(store).count("[FORGOTTEN]") >= 3
    save_reasoning(store, NewReasoning("S", "G", "developer", "approach", f"Use {spelling} now."))
    assert spelling not in texts_of(store) and "Use " in texts_of(store)


def test_a_basic_header_loses_the_secret_and_keeps_the_user(store: Store) -> None:
    header = "Authorization: Basic " + base64.b64encode(f"deploy:{SHORT}".encode()).decode()
    save(store, "a.md")
    forget_secrets(store, [SHORT], RedactionMode.OFF)
    clean = redact(header, load_config(store).redaction_mode).text
    assert clean.startswith("Authorization: Basic " + base64.b64encode(b"deploy:").decode()[:9])
    assert clean.endswith("[FORGOTTEN]")


def test_a_path_that_spells_it_otherwise_is_refused(store: Store) -> None:
    save(store, "a.md")
    forget_secrets(store, [SECRET], RedactionMode.OFF)
    blocklist = Blocklist(store.primary)
    assert blocklist.holds_path(f"notes/{base64.urlsafe_b64encode(SECRET.encode()).decode()}.md")
    assert not blocklist.holds_path(f"notes/{base64.urlsafe_b64encode(SECRET[1:].encode()).decode()}.md")
