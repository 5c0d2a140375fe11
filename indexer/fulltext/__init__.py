"""The derived index: its file, who brings it in step with the truth, and how it heals."""
