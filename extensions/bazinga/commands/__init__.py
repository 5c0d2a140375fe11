"""The commands of `ctxrank bazinga`, a module for each family."""
