"""Pictures of widgets, for files and the clipboard."""
