"""`ctxrank package`: save, list, show, supersede and consume context packages."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.records.packages import Consumer, Package


@declare.group()
def command() -> None:
    """Context packages: a finding with a file, a summary, a priority and the agents it is meant for."""


@command.command()
@declare.argument("path", metavar="FILE")
@declare.option("--session", required=True, help="The session it belongs to.")
@declare.option("--group", help="Its task group; none, - or 'global' means the whole session.")
@declare.option("--type", "type_", required=True, help="research, failures, decisions, handoff or investigation.")
@declare.option("--producer", required=True, help="The agent that found it.")
@declare.option("--summary", required=True, help="One line that says what is in it; stored whole.")
@declare.option("--priority", default="medium", show_default=True, help="low, medium, high or critical.")
@declare.option("--scope", help="group or global [default: group if there is a group].")
@declare.option("--consumer", "consumers", multiple=True, help="An agent it is meant for [default: by its type].")
@declare.option("--create-session", is_flag=True, help="Make the session if it is not there.")
def save(
    call: Call,
    path: str,
    session: str,
    group: str | None,
    type_: str,
    producer: str,
    summary: str,
    priority: str,
    scope: str | None,
    consumers: tuple[str, ...],
    create_session: bool,
) -> None:
    """Save a package and index its FILE (relative to the root); a known file becomes its next version.

    Example: ctxrank package save notes/locks.md --session S --group QUEUE --type research
    --producer investigator --priority high --summary "WAL switch ignores the busy timeout"
    """
    from ctxrank.indexer.records.packages import NewPackage, save_package
    from ctxrank.indexer.store.config import load_config

    new = NewPackage(session, group, type_, path, producer, summary, priority, scope, consumers)
    with call.open() as store:
        saved = save_package(store, new, create_session=create_session, mode=load_config(store).redaction_mode)
    for note in saved.notes:
        call.note(note)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "id": saved.id, "file_path": saved.path, "version": saved.version, "supersedes": saved.supersedes,
                "consumers": list(saved.consumers), "passages": saved.passages, "notes": list(saved.notes),
            }
        )  # fmt: skip
        return
    replaced = f", replaces package:{saved.supersedes}" if saved.supersedes else ""
    print(f"Saved package:{saved.id} (version {saved.version}{replaced}) for {', '.join(saved.consumers)}")


@command.command("list")
@declare.option("--session", help="Only of this session.")
@declare.option("--group", help="Only of this group, and global ones.")
@declare.option("--type", "type_", help="Only of this type.")
@declare.option("--priority", help="Only of this priority.")
@declare.option("--superseded", is_flag=True, help="Also those that a newer one replaces.")
@declare.option("-n", "--limit", default=50, show_default=True, type=declare.Whole(1), help="How many.")
def list_(
    call: Call,
    session: str | None,
    group: str | None,
    type_: str | None,
    priority: str | None,
    superseded: bool,
    limit: int,
) -> int:
    """List packages, the newest first.

    Example: ctxrank package list --session S --group AUTH
    """
    from ctxrank.indexer.records.packages import list_packages
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        if session is not None:
            find_session(store.truth, session)
        packages = list_packages(
            store.truth, session=session, group=group, type_=type_, priority=priority,
            include_superseded=superseded, limit=limit,
        )  # fmt: skip
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"total": len(packages), "packages": [_package_json(package) for package in packages]},
            outcome="matched" if packages else "no_match",
        )
    else:
        for package in packages:
            _print_line(call, package)
        if not packages:
            call.note("no packages.")
    return 0 if packages else 1


@command.command()
@declare.argument("package_id", metavar="ID")
def show(call: Call, package_id: str) -> None:
    """Show one package with its consumers.

    Example: ctxrank package show 12
    """
    from ctxrank.indexer.records.packages import consumers_of, get_package

    with call.open() as store:
        package = get_package(store.truth, _id(package_id))
        consumers = consumers_of(store.truth, package.id)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"package": _package_json(package), "consumers": [_consumer_json(c) for c in consumers]})
        return
    _print_line(call, package)
    print(f"   scope {package.scope}, version {package.version}, by {shown(package.producer)}")
    if package.superseded_by:
        print(f"   superseded by package:{package.superseded_by}")
    for consumer in consumers:
        print(f"   for {shown(consumer.agent)}: {_consumption(consumer)}")


@command.command()
@declare.argument("old_id", metavar="OLD")
@declare.option("--by", "new_id", metavar="NEW", required=True, help="The package that replaces it.")
def supersede(call: Call, old_id: str, new_id: str) -> None:
    """Say that package OLD is replaced by package NEW of the same session.

    Example: ctxrank package supersede 12 --by 31
    """
    from ctxrank.indexer.records.packages import supersede as supersede_package

    with call.open() as store:
        supersede_package(store, _id(old_id), _id(new_id))
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"superseded": _id(old_id), "by": _id(new_id)})
    else:
        print(f"package:{_id(old_id)} is superseded by package:{_id(new_id)}")


@command.command()
@declare.argument("package_id", metavar="ID")
@declare.option("--agent", required=True, help="Who has taken it.")
@declare.option("--iteration", default=0, show_default=True, type=declare.Whole(0), help="At which try.")
def consume(call: Call, package_id: str, agent: str, iteration: int) -> None:
    """Record that an agent has taken a package; the package must be meant for it.

    Example: ctxrank package consume 12 --agent developer
    """
    from ctxrank.indexer.records.packages import consume as consume_package

    with call.open() as store:
        is_new = consume_package(store, _id(package_id), agent, iteration)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"package": _id(package_id), "agent": agent, "iteration": iteration, "recorded": is_new})
    else:
        print(f"package:{_id(package_id)} {'consumed' if is_new else 'was consumed before'} at iteration {iteration}")


def _id(text: str) -> int:
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.store.documents import parse_ref

    ref = parse_ref(text)
    if ref.kind != "package":
        raise UsageError(f"{ref} is not a package.", "Give a package's id, such as 12 or package:12.")
    return ref.number


def _print_line(call: Call, package: "Package") -> None:
    from ctxrank.indexer.clock import format_day

    where = "/".join(part for part in (package.session, package.group) if part)
    marker = f" (superseded by package:{package.superseded_by})" if package.superseded_by else ""
    about = shown(f"[{package.priority}] {package.type} · {package.path}{marker}")
    print(f"{call.bold(f'package:{package.id}')} {about}")
    print(f"   {call.dim(shown(f'{where} · {format_day(package.created_at)}'))} · {shown(package.summary)}")


def _consumption(consumer: "Consumer") -> str:
    from ctxrank.indexer.clock import format_us

    if consumer.consumed_at is None:
        return "pending"
    return f"consumed at iteration {consumer.iteration}, {format_us(consumer.consumed_at)}"


def _package_json(package: "Package") -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    value = package._asdict()
    value["file_path"] = value.pop("path")
    value["session_id"] = value.pop("session")
    value["group_id"] = value.pop("group")
    value["created_at"] = format_us(package.created_at)
    return value


def _consumer_json(consumer: "Consumer") -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    moment = None if consumer.consumed_at is None else format_us(consumer.consumed_at)
    return {"agent": consumer.agent, "iteration": consumer.iteration, "consumed_at": moment}
