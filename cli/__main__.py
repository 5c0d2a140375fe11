"""`python -m ctxrank.cli` is `ctxrank`."""

from ctxrank.cli.main import main

main()
