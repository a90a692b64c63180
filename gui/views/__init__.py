"""The widgets, one a file: each takes its model, draws it, and writes only to it."""
