"""How a person, an agent or an orchestrator asks."""
