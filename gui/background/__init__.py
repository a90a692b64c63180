"""What keeps the UI thread's events short: workers, and long work done in pieces."""
