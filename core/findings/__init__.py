"""What a kernel does wrong, and where."""
