"""The `tilescope` command."""

# Each is a module here with a function of its name.
COMMANDS = ("trace", "bench", "ceilings", "occupancy", "devices", "lesson")
