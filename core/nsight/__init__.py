"""Profiles of Nsight Compute, read and set beside counts of the emulator."""
