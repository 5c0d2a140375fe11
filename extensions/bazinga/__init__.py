"""BAZINGA, the predecessor: its commands, its reader, its views, and the switch."""
