"""What agent runners call: tools over MCP, and one local process that answers."""
