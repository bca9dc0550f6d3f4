"""What npm and pip say, without the secrets they say it with."""

from __future__ import annotations

import pytest

from roost.catalogue.secrets import without_secrets


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("GET https://user:geheim@example.org/x failed", "GET https://***@example.org/x failed"),
        ("https://geheim@example.org", "https://***@example.org"),
        ("//example.org/:_authToken=geheim", "//example.org/:_authToken=***"),
        ('"_password": "geheim"', '"_password": ***'),
        ("Authorization: Bearer geheim", "Authorization: ***"),
        ("sent Basic geheim", "sent Basic ***"),
        ("npm_" + "a1" * 18, "***"),
        ("nothing to hide at https://example.org/@scope/x", "nothing to hide at https://example.org/@scope/x"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, left: str) -> None:
    assert without_secrets(text, {}) == left


def test_the_values_of_variables_that_tell_by_their_names_are_taken_out() -> None:
    env = {"NPM_TOKEN": "geheim", "MY_API_KEY": "auch-geheim", "HOME": "/home/me-too", "SHORT_KEY": "abc"}
    assert without_secrets("geheim auch-geheim /home/me-too abc", env) == "*** *** /home/me-too abc"
