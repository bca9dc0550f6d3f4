"""Functions from a plan to a plan that holds the program tighter. Pure: they start nothing."""
