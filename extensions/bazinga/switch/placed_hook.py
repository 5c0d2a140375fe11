# >>> ctxrank bazinga install: `ctxrank bazinga uninstall` takes it away
def _ctxrank_hook(names: "dict[str, object]") -> None:
    import importlib.util  # noqa: PLC0415  the names of the script are its own
    import os  # noqa: PLC0415  the same
    import sys  # noqa: PLC0415  the same

    try:
        here = os.path.dirname(os.path.abspath(__file__))
        path = os.path.join(here, "..", "..", "..", "ctxrank", "ctxrank_switch.py")
        spec = importlib.util.spec_from_file_location("ctxrank_switch", path)
        switch = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(switch)  # type: ignore[union-attr]
        switch.attach(names)
    except (ImportError, OSError, SyntaxError) as error:
        print(f"WARNING: the context is BAZINGA's own, ctxrank's cannot be used: {error}", file=sys.stderr)


_ctxrank_hook(globals())
# <<< ctxrank bazinga install
