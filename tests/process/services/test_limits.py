"""The services' settings."""

from __future__ import annotations

from dataclasses import fields

import pytest

from roost.errors import ConfigError
from roost.process.services import ServiceLimits


@pytest.mark.parametrize("name", [field.name for field in fields(ServiceLimits)])
def test_a_bound_that_cannot_work_is_refused_by_name(name):
    with pytest.raises(ConfigError, match=name):
        ServiceLimits(**{name: -1})
    with pytest.raises(ConfigError, match=name):
        ServiceLimits(**{name: float("nan")})


def test_the_default_output_cannot_be_more_than_the_most():
    with pytest.raises(ConfigError):
        ServiceLimits(output_bytes=2, max_output_bytes=1)
