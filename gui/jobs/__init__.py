"""What is worked out off the UI thread, without a widget."""
