"""MCP, and the process that answers many calls."""
