"""Themes: colours, type and distances, the style sheet, and how they are put on."""
