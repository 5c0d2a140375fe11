"""What the core asks of a cluster's index (`ctxrank.indexer.engine.ClusterIndex`); each answer loads what it needs."""

from ctxrank.indexer.engine import ClusterStatus, Engine
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import WideSettings


class OpenSearchPort:
    """The index in an OpenSearch cluster."""

    def settings(self, value: object, name: str) -> WideSettings:
        """What the section `wide:` says. Raises UsageError."""
        from ctxrank.extensions.opensearch.settings import checked_wide  # noqa: PLC0415  few calls read it

        return checked_wide(value, name)

    def engine_for(self, store: Store, settings: WideSettings) -> Engine:
        """The engine that asks the cluster."""
        from ctxrank.extensions.opensearch.engine import engine_for  # noqa: PLC0415  status asks no question

        return engine_for(store, settings)

    def status(self, store: Store, settings: WideSettings, *, is_used: bool) -> ClusterStatus:
        """How far the index there is."""
        from ctxrank.extensions.opensearch.actions import wide_status  # noqa: PLC0415  a search asks no status

        return wide_status(store, settings, is_used=is_used)


CLUSTER = OpenSearchPort()
