"""A session id that nobody has, to find out what an agent says of such a one.

A caller that resumes somebody else's session gets what it would get if there were none. Its agent may know that
session, so it is asked for another id of the same make; what it says of that one is told as if of the first.
"""

from __future__ import annotations

import string
from hashlib import sha256

import msgspec

# Shorter ids leave too few others, which somebody may have; and they are of no make that an agent would check.
_LEAST = 16
_CLASSES = (string.digits, "abcdef", "ABCDEF", string.ascii_lowercase[6:], string.ascii_uppercase[6:])
_OTHERS = {character: others for others in _CLASSES for character in others}  # a UUID's likeness is a UUID


def decoy_for(session_id: str, salt: str) -> str:
    """Another id, of the same length and make where it is long enough."""
    digest = sha256(f"{salt}\0{session_id}".encode()).digest()
    if len(session_id) < _LEAST or not session_id.isascii() or not session_id.isprintable():
        return digest.hex()
    made = []
    for index, character in enumerate(session_id):
        others = _OTHERS.get(character)
        step = digest[index % len(digest)] + index // len(digest)
        made.append(character if others is None else others[(others.index(character) + step) % len(others)])
    decoy = "".join(made)
    return digest.hex() if decoy == session_id else decoy


def disguise(decoy: str, session_id: str) -> tuple[bytes, bytes]:
    """What to look for in the output of an agent that was asked for a decoy, and what to put in its place."""
    return decoy.encode(), msgspec.json.encode(session_id)[1:-1]
