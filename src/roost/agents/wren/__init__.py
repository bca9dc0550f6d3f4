"""Wren, the agent in the box: small, needs no model and no network, and does what its instructions say.

    python -m roost.agents.wren [--sessions DIR]

Its prompts are plain instructions, one on a line: `todo`, `find TEXT`, `read PATH`, `write PATH`, `replace PATH`,
`run COMMAND`, `say`, `think`, `ask`. Everything else is answered with what it can do.
"""
