"""The command line: one file a command, imports inside the bodies."""
