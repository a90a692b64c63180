"""The SIMT machine that executes PTX, its memory, and what it records."""
