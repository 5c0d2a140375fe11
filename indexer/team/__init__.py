"""A team's log on PostgreSQL: what a store gives to it, and takes from it."""
