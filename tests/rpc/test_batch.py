from __future__ import annotations

import tracemalloc

import pytest

from roost.errors import CodecError, LimitError
from roost.rpc.batch import BatchReplies, batch_items


def test_the_array_comes_with_the_last_reply() -> None:
    batch = BatchReplies()
    batch.owe()
    batch.owe()
    assert batch.complete() is None
    assert batch.waiting
    assert batch.settle(b"2") is None
    assert batch.settle(b"1") == b"[2,1]"
    assert not batch.waiting


def test_nothing_is_sent_while_elements_may_still_follow() -> None:
    batch = BatchReplies()
    batch.owe()
    assert batch.settle(b"1") is None
    batch.owe()
    assert batch.settle(b"2") is None
    assert batch.complete() == b"[1,2]"


def test_a_batch_that_owes_nothing_has_no_array() -> None:  # BAT-4
    assert BatchReplies().complete() is None


def test_elements_come_out_as_they_went_in() -> None:
    assert batch_items(b' [ {"a": 1} ,[2], "x,]" , null ] ', 4) == [b'{"a": 1}', b"[2]", b'"x,]"', b"null"]


def test_an_empty_array_has_no_elements() -> None:
    assert batch_items(b"[]", 4) == []


def test_one_element_over_the_bound_is_a_limit_error_that_names_it() -> None:
    assert len(batch_items(b"[1,2,3]", 3)) == 3
    with pytest.raises(LimitError) as caught:
        batch_items(b"[1,2,3,4]", 3)
    assert (caught.value.limit, caught.value.bound) == ("batch_items", 3)


def test_a_batch_nested_too_deeply_is_a_codec_error() -> None:
    with pytest.raises(CodecError):
        batch_items(b"[" * 100_000 + b"]" * 100_000, 4)


def test_a_million_elements_over_the_bound_cost_no_memory() -> None:
    message = b"[" + b"1," * 1_000_000 + b"1]"
    with pytest.raises(LimitError):
        batch_items(message, 16)  # builds the decoder
    tracemalloc.start()
    try:
        with pytest.raises(LimitError):
            batch_items(message, 16)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
