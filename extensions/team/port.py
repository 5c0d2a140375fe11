"""What the core asks of a team's log (`ctxrank.cli.sharing.Sharing`)."""

# Where each answer is that is not in actions.py, which loads the client of PostgreSQL.
_MODULES = {"wake": "wake", "as_json": "state", "sentence": "state", "watching": "updater"}


class TeamLogPort:
    """The log on PostgreSQL; each answer loads what it needs, since every command of a team's store ends here."""

    def __getattr__(self, name: str) -> object:
        module = f"ctxrank.extensions.team.{_MODULES.get(name, 'actions')}"
        return getattr(__import__(module, fromlist=[name]), name)


TEAM_LOG = TeamLogPort()
