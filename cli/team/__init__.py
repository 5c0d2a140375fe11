"""`ctxrank team`: a store that shares the log of a team. Only a store that has joined one loads this room."""
