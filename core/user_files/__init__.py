"""Files that are no rung: read, with what belongs to them, and launched as a user types it."""
