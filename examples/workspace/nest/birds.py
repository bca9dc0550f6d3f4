"""Birds, and the entrance they need in millimetres."""

ENTRANCES = {
    "blue tit": 26,
    "great tit": 32,
    "house sparrow": 35,
    # TODO: starlings need 45
}


def birds_for(entrance):
    """The birds that get through an entrance of that size."""
    # TODO(later): a bird never uses an entrance much larger than it needs
    return [bird for bird, needed in ENTRANCES.items() if needed <= entrance]
