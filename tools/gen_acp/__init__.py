"""Writes `src/roost/acp/v2/gen/` from `schema/acp.v2.json`.

    schema.py     the JSON schema, as far as this generator reads it  →  model.py
    model.py      the intermediate form: structs, unions, constants, aliases
    topics.py     by hand: which definition goes into which file, and the names of arms
    meanings.py   by hand: one line of meaning for each type
    methods.py    by hand: what the schema does not say about methods (direction, gates)
    render.py     the intermediate form  →  Python text, a file for each topic
    tables.py     ... the method table and the index of names
    text.py       ... small pieces of it

Run `python -m tools.gen_acp` to write, with `--check` to compare.
"""
