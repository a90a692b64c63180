"""What NVIDIA's assembler makes of PTX, as far as counts depend on it."""
