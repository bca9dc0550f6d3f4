"""The vocabulary of the Agent Client Protocol: types, method tables, folds and bridges. Pure data and functions."""
