"""Launches of a user's file that nobody typed: guessed, tried, and what they put in doubt."""
