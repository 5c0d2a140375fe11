"""`python -m ctxrank` is `ctxrank`."""

from ctxrank.cli.entry import main

main()
