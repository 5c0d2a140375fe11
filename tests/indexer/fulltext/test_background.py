"""The process that updates the index beside a writer: what a note to it says of it."""

import os

from ctxrank.indexer.fulltext import background


def test_a_note_is_taken_while_the_process_is_there_though_many_wait_and_not_after_its_end() -> None:
    notify = vars(background)["_notify"]
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    assert notify(writer)
    while True:
        try:
            os.write(writer, b"x" * 4096)
        except BlockingIOError:
            break
    for _ in range(4096):
        assert notify(writer), "so many notes wait already: it will look"
    os.close(reader)
    assert not notify(writer)
    os.close(writer)
