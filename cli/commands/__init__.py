"""What each command takes and answers, as a table of its name; `cli/command_table.py` says what a row is."""
