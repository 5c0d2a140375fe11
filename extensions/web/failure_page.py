"""A failure as it was seen, and what came of it: of one that no known error explains, there is nothing else to open."""

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.indexer.exceptions import NotFoundError


def values(ask: Commands, given: Parameters) -> Json:
    """The failure of a session by its id, and its fix if there was one. Raises NotFoundError."""
    name, id_ = given("name"), given("id")
    found = ask("session show", name=name, with_records=True).fields
    records = found["records"]
    failure = next((one for one in records if one["kind"] == "failure" and one["id"] == id_), None)
    if failure is None:
        raise NotFoundError(f"There is no {id_!a} in {name}.", "The marks of a session's timeline open its failures.")
    known = failure["of"]
    return {
        "name": name,
        "failure": failure,
        "known": known,
        "title": ask.title(known) if known else "",
        "fix": next((one for one in records if one["kind"] == "fix" and one["of"] == id_), None),
    }
