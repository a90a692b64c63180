"""PTX: its text, its types, what each instruction computes, and its debug information."""
