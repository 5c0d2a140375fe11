"""The store itself: made, looked at, indexed, repaired, purged, exported and measured."""
