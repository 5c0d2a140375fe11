"""A store whose every text is markup: nothing of it becomes any."""

from collections.abc import Iterator

import hostile_store
import pytest

pytest.importorskip("jinja2", reason="the extra web is not installed")

from web_builders import BASE, Markup, Served, served

# Of each way out of a text: an element, an attribute of either quotes, a script's end, a template, an entity.
# The store's is short: a file is called so.
_IN_STORE = "<script>owned()</script><img src=x onerror=owned()>\"'><svg onload=owned()>{{ 7*7 }}&lt;b&gt;<!--]]></pre>"
_MARKUP = f"{_IN_STORE}<a href=javascript:owned()>x</a><iframe srcdoc=x></textarea></title><style>*{{}}</style>"
_OURS = frozenset(
    (
        "html", "head", "meta", "title", "link", "script", "body", "a", "header", "nav", "i", "main", "section",
        "aside", "article", "h1", "h2", "p", "span", "b", "small", "code", "pre", "mark", "kbd", "ul", "ol", "li",
        "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "form", "label", "input", "select", "option",
        "textarea", "button", "output", "details", "summary", "dialog", "time", "div", "br", "svg", "rect", "circle",
        "line", "path", "text", "tspan",
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile")
    hidden = hostile_store.HOSTILE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hostile_store, "HOSTILE", f"{_IN_STORE}{hidden}")
        patch.setattr(hostile_store, "HOSTILE_FIELD", f"{_IN_STORE}{hostile_store.HOSTILE_FIELD}")
        primary = hostile_store.hostile_store(folder)
    found = served(str(primary), is_writing=True)
    with found.browser:
        yield found


def _is_text(answer: str, where: str) -> Markup:
    found = Markup(answer)
    assert set(found.elements) <= _OURS, (where, set(found.elements) - _OURS)
    assert not [name for name in found.attributes if name.startswith("on")], where
    assert not {"srcdoc", "style", "formaction"} & set(found.attributes), where
    assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in found.links), where
    assert found.elements["script"] <= 1, where
    assert "49" not in found.text.split("{{"), where
    assert not hostile_store.hidden_in(found.text.replace("\xa0", " ")), where
    return found


@pytest.mark.slow
def test_no_page_lets_a_text_be_markup(page: Served) -> None:
    get = page.browser.get
    addresses = [
        "/",
        "/blocks",
        "/sessions",
        "/errors",
        "/links",
        "/status",
        "/receipts",
        "/palette?q=owned",
        "/receipts?left=1&right=2",
        "/blocks?agent=developer&task=token+refresh",
    ]
    for query in ("token refresh", "walrus", "kind:linked", "kind:error", "locked", "onerror owned script"):
        found = get("/", params={"q": query})
        _is_text(found.text, query)
    shown = 0
    for address in addresses:
        answer = get(address)
        shown += "owned" in _is_text(answer.text, address).text
    assert shown >= 4  # the texts are there, as texts


@pytest.mark.slow
def test_no_document_lets_its_text_be_markup(page: Served) -> None:
    hits = Markup(page.browser.get("/", params={"q": "owned", "n": 100}).text)
    links = sorted({link for link in hits.links if link.startswith("/finding?")})
    assert len(links) > 5
    for link in links:
        answer = page.browser.get(link)
        assert answer.status_code == 200 and "owned" in _is_text(answer.text, link).text, link


def test_no_block_of_the_past_lets_its_text_be_markup(page: Served) -> None:
    for number in (1, 2, 3):
        answer = page.browser.get("/receipt", params={"id": number})
        assert answer.status_code == 200 and "owned" in _is_text(answer.text, f"receipt {number}").text


def test_what_is_asked_is_no_markup_either(page: Served) -> None:
    for path, name in (
        ("/", "q"),
        ("/finding", "id"),
        ("/finding", "back"),
        ("/receipt", "id"),
        ("/palette", "q"),
        ("/receipts", "session"),
        ("/receipts", "left"),
        ("/failure", "name"),
        ("/failure", "id"),
        ("/blocks", "task"),
        ("/sessions", "name"),
        ("/links", "task"),
    ):
        _is_text(page.browser.get(path, params={name: _MARKUP}).text, path)
    data = {"output": f"Error: {_MARKUP}\n", "form": page.access.form_token, "project": _MARKUP}
    found = _is_text(page.browser.post("/errors", data=data, headers={"origin": BASE}).text, "/errors")
    assert "owned" in found.text


def test_marked_words_are_escaped(page: Served) -> None:
    """A word of the markup is highlighted, in its middle."""
    found = _is_text(page.browser.get("/", params={"q": "owned onerror"}).text, "marks")
    assert "owned" in found.marked
