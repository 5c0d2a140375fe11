"""What is taken of anything foreign: its lines, sizes, nesting, stores and orders. Each bound is here, once.

docs/threat-model.md has the same as a table, and a test compares them. The server of a team's log holds its own copies
of the last four (extensions/team/log_001.sql, log_003.sql), which do not depend on what a client says.
"""

MAX_DEPTH = 100  # lists and objects of JSON in each other, as it is stored
MAX_LINE_DEPTH = MAX_DEPTH + 20  # of a line with such a value in it; an export's own are 5 deep
MAX_FILE_BYTES = 16 * 1024 * 1024  # of a file that is read whole; what is larger (dumps, recordings) nobody wrote
MAX_NOTES_BYTES = 256 * 1024  # of the notes that a hook takes in at one event: what is more would outlast it
MAX_EVENT_BYTES = 8 * 1024 * 1024  # of a hook's event
MAX_TEXT_BYTES = 4_000_000  # of a text that is given, and characters of one that is imported: a book has a million
MAX_NAME_CHARS = 4096  # of an imported name: of an agent, a session, a path
MAX_QUERY_BYTES = 100_000
MAX_LINE_BYTES = 64 * 1024 * 1024  # of a file that is imported
MAX_HEADER_BYTES = 1024 * 1024  # of its first line
MAX_UNDECIDED = 200  # other stores that nobody has decided on: what more bring is left out
LEAST_CHARS, MOST_CHARS = 8, 10_000  # of a secret that is to be forgotten
FEW_RECORDS, SHARE_OF_RECORDS = 10, 0.01  # what the orders of one store may touch in ORDER_DAYS: the larger of the two
MAX_ORDERS = 10_000  # of one store that are carried out in ORDER_DAYS
ORDER_DAYS = 7  # for so long an order counts, and may be taken back
MAX_RECORD_BYTES = 8 * 1024 * 1024  # of a record in a team's log, sealed as it is and unpacked
MAX_PUSHED = 1000  # records in one push
MAX_DAY_BYTES = 1024 * 1024 * 1024  # of one member in a day
MAX_CONNECTIONS = 10  # of one member's role
