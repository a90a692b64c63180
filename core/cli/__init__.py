"""The `tilescope` command."""

# Each is a module here with a function of its name (compare_ncu for compare-ncu).
COMMANDS = (
    *("trace", "check", "scan", "bench", "tune", "worker", "compare-ncu", "ceilings"),
    *("occupancy", "devices", "lesson", "export", "report"),
)
