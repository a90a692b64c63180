"""NVRTC, which compiles CUDA C, and the machine code that it makes."""
