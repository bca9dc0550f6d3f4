"""The `roost` command. A caller like any other: everything it does goes through `roost.host`."""
