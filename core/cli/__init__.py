"""The `tilescope` command."""

# Each is a module here with a function of its name.
COMMANDS = ("trace", "check", "bench", "ceilings", "occupancy", "devices", "lesson")
