"""The script that counts the functions a value passes through counts them."""

from call_path import WALKS, functions_passed, in_a_store


def test_each_walk_goes_from_the_command_line_to_where_its_value_is_used() -> None:
    passed: dict[str, list[str]] = {}
    in_a_store(lambda walk: passed.update({walk.name: functions_passed(walk.words, walk.value)}))
    task, query, path = (passed[walk.name] for walk in WALKS)
    assert task[0] == query[0] == "main.py:run" and len(set(task)) > 20
    assert any(name.startswith("query.py:") for name in query) and any(
        name.startswith("documents.py:") for name in path
    )
