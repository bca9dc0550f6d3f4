"""Which program runs an agent's file: functions from a file to a command, found by their AcpRuntimeKind's name."""
