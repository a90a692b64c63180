"""The window: views that draw a recorded trace, and the session that links them."""
