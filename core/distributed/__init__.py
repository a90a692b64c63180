"""Launches spread over processes and machines."""
