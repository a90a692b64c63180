"""Launches of files that are no rung: what a user types or a source suggests, checked."""
