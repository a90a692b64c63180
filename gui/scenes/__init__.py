"""What the views show, worked out without Qt: one module for each view, and the shared session."""
