"""Pages of views in docks: how they are laid out, moved, and shown large."""
