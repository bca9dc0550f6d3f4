"""The limits of a simulated daemon."""

from __future__ import annotations

from random import Random

import msgspec

from roost.sidecar.limits import Limits


def random_limits(random: Random) -> Limits:
    """Mostly wide, sometimes so small that ordinary use reaches them."""

    def bound(small: int, wide: int) -> int:
        return small if random.random() < 0.15 else wide

    line = random.choice((700, 2000, 8000))
    limits = Limits(
        max_frame_bytes=8192,
        line_bytes=line,
        agent_input_bytes=bound(6000, 200_000),
        caller_output_bytes=random.choice((500, 3000, 100_000)),
        closing_output_bytes=random.choice((1, 300, 3000)),
        requests_per_connection=bound(2, 100),
        requests_per_session=bound(2, 100),
        sessions_per_caller=bound(1, 20),
        processes=bound(2, 100),
        callbacks_per_session=bound(1, 30),
        bootstrap_notifications=bound(2, 1000),
        bootstrap_bytes=bound(500, 100_000),
        restarts=random.choice((0, 1, 3, 3)),
        sleep_after=random.choice((0.0, 5.0, 1800.0)),
        recent_activity=bound(0, 16),
        stderr_tail=bound(5, 400),
        noise_tail=bound(5, 200),
        service_requests=bound(2, 128),
        terminals_per_session=bound(1, 32),
        terminal_shown_bytes=bound(50, 100_000),
        terminal_output_bytes=bound(50, 10_000),
    )
    durations = [field.name for field in msgspec.structs.fields(Limits) if field.type is float]
    if random.random() < 0.15:  # what is over before it has begun
        limits = msgspec.structs.replace(limits, **{random.choice(durations): 0.0})
    return limits
