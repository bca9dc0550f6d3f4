"""Which birds fit which nest box."""
