"""What each command takes and answers, as data; one module a family."""
