"""Counts and explanations drawn from what the machine did: sectors, banks, totals, findings."""
