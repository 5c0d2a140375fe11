"""Which commands are the same."""

from ctxrank.extensions.transcripts.command_form import adds_to, includes


def test_with_other_rights_it_is_the_same_command_and_the_rights_are_what_was_added() -> None:
    assert includes("sudo npm install -g x", "npm install -g x", "")
    assert adds_to("sudo npm install -g x", "npm install -g x")
    assert includes("sudo -u postgres FOO=1 psql -f x.sql", "psql -f x.sql", "")
    assert not adds_to("npm install -g x", "sudo npm install -g x")


def test_a_quoted_word_is_one_word_of_a_form() -> None:
    assert not includes('pytest -k "one and two"', 'pytest -k "one and three"', "")
