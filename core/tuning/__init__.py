"""The fastest parameters of a kernel: a space of them scanned, and searched."""
