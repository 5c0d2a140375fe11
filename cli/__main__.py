"""`python -m ctxrank.cli` is `ctxrank`."""

from ctxrank.cli.entry import main

main()
