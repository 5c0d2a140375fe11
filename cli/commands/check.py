"""`ctxrank check`: whether the links of `.contextia/` lead somewhere."""

import gc

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.links.check import CheckReport


@declare.command()
@declare.option("--strict", is_flag=True, help="Warnings fail too.")
def command(call: Call, strict: bool) -> int:
    """Check the artifacts of .contextia/ and the annotations in code: references, fields, paths, statuses.

    Severities stand in .contextia/config.yaml (error, warning, info, off). Exit code 1 for errors, with
    --strict also for warnings.

    Example: ctxrank check --strict
    """
    from ctxrank.cli.commands.linked_store_option import open_for_links
    from ctxrank.indexer.links.check import check_tree
    from ctxrank.indexer.links.tree import require_tree
    from ctxrank.indexer.store.config import load_config

    gc.enable()  # this may take a while: see cli/entry.py
    with open_for_links(call) as store:
        report = check_tree(store, require_tree(store.location), load_config(store).redaction_mode)
    failed = report.count("error") + (report.count("warning") if strict else 0)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "ok": not failed,
                "counts": report.counts,
                "errors": report.count("error"),
                "warnings": report.count("warning"),
                "findings": [finding._asdict() for finding in report.findings],
            }
        )
    else:
        _print_text(report, is_ok=not failed)
    return 1 if failed else 0


def _print_text(report: "CheckReport", *, is_ok: bool) -> None:
    from ctxrank.indexer.links.check import counted

    for finding in report.findings:
        place = shown(f"{finding.path}:{finding.line}")
        print(f"{finding.severity:<7} {place}  {shown(f'{finding.rule}: {finding.message}')}")
    print(
        f"{'OK' if is_ok else 'FAILED'} {counted(report.counts)}: "
        + ", ".join(_number(report.count(severity), severity) for severity in ("error", "warning", "info"))
    )


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
