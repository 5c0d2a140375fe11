"""The context of a task: which linked artifacts it reaches, and at which level each is shown."""
