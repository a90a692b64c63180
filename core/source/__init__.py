"""CUDA C++ text: what it declares, and what of it the device compiles."""
