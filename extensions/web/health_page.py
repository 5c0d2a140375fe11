"""Health: what the store holds and weighs, what the doctor finds, and how long this server's answers took."""

import os
from collections.abc import Iterable, Sequence

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.indexer.store.connection import size_of

_PURGES, _INJECTIONS = 10, 10


def values(ask: Commands, given: Parameters) -> Json:
    """The answers of status and doctor, what was purged lately and what hooks put before models."""
    status = ask("status").fields
    documents = status["documents"]
    folder = os.path.dirname(status["store"])
    return {
        "status": status,
        "documents": documents,
        "total": sum(one for kind, one in documents.items() if kind != "passage"),
        "files": _sizes(folder),
        **examined(ask, given),
        "purged": ask("purge", is_list=True).fields.get("kept_out", [])[-_PURGES:][::-1],
        "stores": ask("origins").fields.get("origins", []),
        "removals": ask("origins", does="removed").fields.get("removals", [])[:_PURGES],
        "injections": ask("receipt list", of_hooks=True, limit=_INJECTIONS).fields.get("injections", []),
    }


def examined(ask: Commands, given: Parameters) -> Json:
    """What the doctor finds, where it is asked: of a large store it takes seconds, and the page does not wait."""
    how = given("doctor")
    if not how:
        return {"counts": None, "findings": [], "is_deep": False}
    doctor = ask("doctor", deep=how == "deep").fields
    findings = sorted(doctor["findings"], key=lambda one: ("fail", "warn", "ok").index(one["result"]))
    return {"counts": doctor["counts"], "findings": findings, "is_deep": how == "deep"}


def _sizes(folder: str) -> list[tuple[str, int]]:
    """The files of a store's folder with their bytes; of one that goes meanwhile, as a log does, there are none."""
    paths = (os.path.join(folder, name) for name in os.listdir(folder))
    found = [(os.path.basename(path), size_of(path)) for path in paths if os.path.isfile(path)]
    return sorted(found, key=lambda file: -file[1])


def latencies(times: Iterable[float]) -> Json:
    """The last answers of this server: how many, and the median and 95th percentile of how long they took."""
    took = sorted(times)
    return {"answers": len(took), "median": _percentile(took, 0.5), "slow": _percentile(took, 0.95)}


def _percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
