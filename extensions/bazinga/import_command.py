"""`ctxrank import bazinga`: the predecessor's database comes in."""

from ctxrank.cli.declare import IMPORTED, Command, Path, argument, by_name, option

_IMPORT = Command(
    "bazinga",
    "ctxrank.extensions.bazinga.database.action:import_database",
    """Import a BAZINGA database (schema 6 to 19), all of it or what is new since the last import.

    Artifacts are read below --root, which is noted as one that this store may read. Without it they are read only
    where DB is bazinga/bazinga.db of the store's own project; else their summaries alone come in. The database is
    opened read-only, and everything is redacted before it is stored. A second run imports only what is new.

    Example: ctxrank import bazinga ../app/bazinga/bazinga.db --root ../app
    """,
    (
        argument("database", type=Path(), metavar="DB"),
        option("--salvage", is_flag=True, help="DB is damaged: import what can be read, and report what is lost."),
    ),
    answer=IMPORTED,
    exits={0: "done", 5: "DB is damaged; with --salvage, something of it is lost, and the rest came in"},
)

COMMANDS = by_name(_IMPORT)
