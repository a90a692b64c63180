"""What the window does when it is asked: one job a file, each connected to one window."""
