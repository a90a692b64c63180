"""Known GPUs, what an SM of each holds, and numbers with units."""
