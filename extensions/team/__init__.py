"""A team's log on PostgreSQL: pushing, pulling, sealed lines, snapshots."""
