"""What agent runners call: hooks, tools over MCP, one local process that answers, and their own files."""
