"""Compile, emulate, record and measure CUDA kernels. Nothing in here knows about a window."""
