"""Running agent programs: finding them, starting them, and leaving nothing of them behind."""
