"""Machines that run one block and work out what all other blocks do."""
