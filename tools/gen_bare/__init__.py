"""Generates src/roost/sidecar/gen from the BARE schemas. Run as `python -m tools.gen_bare [--check]`."""
