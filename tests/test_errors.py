"""Tests that errors say what is wrong, where, and how to fix it, and never contain document text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym import errors
from onym.errors import (
    ConfigError,
    DownloadError,
    InputError,
    IntegrityError,
    LimitError,
    OnymError,
    UnknownConceptError,
    format_id,
    printable,
    to_onym_error,
)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (OnymError, 1),
        (ConfigError, 2),
        (InputError, 3),
        (UnknownConceptError, 3),
        (DownloadError, 3),
        (IntegrityError, 4),
        (LimitError, 6),
    ],
)
def test_exit_statuses(kind: type[OnymError], status: int) -> None:
    assert kind("a-code", "what").exit_status == status


def test_a_message_has_three_lines() -> None:
    error = InputError("input-format", "17 fields, expected 18", where="MRCONSO.RRF:12", fix="fetch it again")
    assert str(error).splitlines() == [
        "[input-format] 17 fields, expected 18",
        "  at   MRCONSO.RRF:12",
        "  try  fetch it again",
    ]
    assert error.as_dict() == {
        "code": "input-format",
        "what": "17 fields, expected 18",
        "where": "MRCONSO.RRF:12",
        "fix": "fetch it again",
    }
    assert str(OnymError("code", "what")) == "[code] what"


def test_unknown_concept_error_is_a_readable_key_error() -> None:
    assert str(UnknownConceptError("concept-unknown", "no such id")) == "[concept-unknown] no such id"
    assert issubclass(UnknownConceptError, KeyError)


def test_control_characters_are_escaped() -> None:
    assert "\x1b" not in str(InputError("a-code", "name \x1b[2J", where="a\nb"))
    assert printable("caf\u00e9 \u202e\t") == "caf\u00e9 \\u202e\\t"


def test_errors_can_be_pickled() -> None:
    rebuild, arguments = InputError("a-code", "what", where="there", fix="so").__reduce__()
    assert rebuild(*arguments).as_dict() == {"code": "a-code", "what": "what", "where": "there", "fix": "so"}


@given(st.text(st.characters()))
def test_messages_contain_no_terminal_escapes(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    shown.encode()  # does not raise, because lone surrogates are escaped


def test_unexpected_error_shows_only_type_and_line() -> None:
    with pytest.raises(TypeError) as caught:
        InputError("a-b", None)  # type: ignore[arg-type]
    message = to_onym_error(caught.value)
    assert to_onym_error(caught.value, caught_in=errors.__file__).what.startswith("TypeError outside of Onym")
    assert (message.code, message.exit_status) == ("internal-error", 1)
    assert message.what.startswith("TypeError in errors.py:")


def test_onym_errors_are_returned_unchanged() -> None:
    error = InputError("a-b", "what")
    assert to_onym_error(error) is error


def test_os_errors_contain_no_text() -> None:
    assert to_onym_error(OSError(24, "Too many open files", "a.txt")).as_dict() == {
        "code": "system-refused",
        "what": "the operating system reported: Too many open files",
        "where": "a.txt",
        "fix": "fix the cause and run the command again",
    }
    assert to_onym_error(OSError("patient Smith")).what == "the operating system reported: OSError"
    assert to_onym_error(MemoryError("patient Smith")).code == "memory-exhausted"


@pytest.mark.parametrize("document_id", ["", "1", "PMC12.1#2", "10.1000/x(2)[a]", "note-7_b~c", "Müller:3", "x" * 64])
def test_normal_id_is_shown_unchanged(document_id: str) -> None:
    assert format_id(document_id) == document_id


@pytest.mark.parametrize("document_id", ["the patient", "a\tb", "a\n", "\x1b", "the%20patient", "\ud800", "x" * 65])
def test_text_instead_of_an_id_is_shown_as_a_digest(document_id: str) -> None:
    shown = format_id(document_id)
    assert shown.startswith("id~")
    assert document_id not in shown
    assert format_id(shown) == shown
