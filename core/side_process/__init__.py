"""Work in a process of its own, which can be ended at once."""
