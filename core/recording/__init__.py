"""Runs of a launch in the emulator: recorded whole, or only counted, and kept on disk."""
