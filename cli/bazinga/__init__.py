"""`ctxrank bazinga`: the predecessor's commands, a module for each family; `run` reads the arguments."""
