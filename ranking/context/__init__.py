"""The context of an agent: what is chosen, priced, packed into a budget and rendered."""
