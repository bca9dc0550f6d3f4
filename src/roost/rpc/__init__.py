"""One side of a JSON-RPC 2.0 connection. Pure: whole messages in, events and whole messages out. Knows no ACP."""
