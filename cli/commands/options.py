"""Options that several commands take, each declared once."""

from ctxrank.cli.declare import Whole, option

# A command that saves.
OWNING_SESSION = option("--session", required=True, help="The session it belongs to.")
OWNING_GROUP = option("--group", help="Its task group; none, - or 'global' means the whole session.")
DURABLE = option("--durable", is_flag=True, help="Wait until the team's log has it, too; 6 if it does not answer.")
CREATE_SESSION = option("--create-session", is_flag=True, help="Make the session if it is not there.")

# A command that reads.
SESSION = option("--session", required=True, help="The session.")
EXACT_GROUP = option("--group", help="Only of this group, exactly; none means all.")
LIMIT = option("-n", "--limit", type=Whole(1), default=20, show_default=True, help="How many.")
LONG_LIMIT = LIMIT._replace(default=50)
FULL = option("--full", "is_full", is_flag=True, help="The whole texts, not their beginnings.")
