"""Models of GPUs: what a device can do at best, computed from its figures."""
