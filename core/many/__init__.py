"""Many launches: scanned, spread over machines, tuned."""
