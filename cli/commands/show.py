"""`ctxrank show`: one document, whole or in part."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call


@declare.command()
@declare.argument("document", metavar="ID")
@declare.option(
    "--depth",
    type=declare.OneOf(("meta", "summary", "full")),
    default="full",
    show_default=True,
    help="meta: where it comes from; summary: and what it says; full: and its passages.",
)
def command(call: Call, document: str, depth: str) -> None:
    """Show one document by its id, kind:number; a bare number is a package.

    Example: ctxrank show package:12 --depth summary
    """
    from ctxrank.indexer.records.reader import read_document
    from ctxrank.indexer.store.documents import parse_ref

    with call.open() as store:
        shown = read_document(store, parse_ref(document), with_passages=depth == "full")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        value = shown.as_json()
        if depth == "meta":
            value.pop("body")
        if depth != "full":
            value.pop("passages")
        emit_json({"document": value})
        return
    from ctxrank.indexer.text.lines import one_line, printable

    print(call.bold(one_line(shown.title)))
    print(call.dim(one_line(" · ".join(fact for fact in shown.facts() if fact))))
    for name, detail in shown.details:
        print(f"{name}: {one_line(detail)}")
    if depth != "meta" and shown.body:
        print(f"\n{printable(shown.body)}")
    for passage in shown.passages if depth == "full" else ():
        print(f"\n{call.dim(f'passage:{passage.id} · lines {passage.start_line}-{passage.end_line}')}")
        print(printable(passage.text).rstrip("\n"))
