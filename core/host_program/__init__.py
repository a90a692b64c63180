"""What a program's host code has done when it launches a kernel: an interpreter of it, in small."""
