"""How workers and drivers speak."""

from __future__ import annotations

import io

import pytest

from onym.batch.pipes import error_reply, require_no_error, say
from onym.errors import IntegrityError, InternalError


def test_a_line_is_json() -> None:
    replies = io.BytesIO()
    say(replies, {"text": "two\nlines"})
    assert replies.getvalue() == b'{"text": "two\\nlines"}\n'


def test_an_error_comes_out_as_it_went_in() -> None:
    error = IntegrityError("kb-corrupt", "it is torn", where="kb", fix="build it again")
    with pytest.raises(IntegrityError) as caught:
        require_no_error(error_reply(error))
    assert caught.value.as_dict() == error.as_dict()


def test_an_unknown_kind_is_an_internal_error() -> None:
    reply = error_reply(IntegrityError("kb-corrupt", "it is torn")) | {"kind": "Other"}
    with pytest.raises(InternalError, match="kb-corrupt"):
        require_no_error(reply)


def test_what_is_no_error_is_let_through() -> None:
    require_no_error({"ready": True})
