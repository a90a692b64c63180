"""CUDA source: what it declares, and NVRTC, which compiles it."""
