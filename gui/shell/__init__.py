"""The window itself: what puts pages, menus and commands together, and starts them."""
