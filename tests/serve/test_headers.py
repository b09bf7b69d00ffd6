"""What all answers say to browsers."""

from __future__ import annotations

from onym.serve.headers import POLICY, guarded

NAMES = {
    b"content-security-policy",
    b"cache-control",
    b"x-content-type-options",
    b"referrer-policy",
    b"cross-origin-resource-policy",
}


def test_what_an_answer_does_not_say_is_safe() -> None:
    found = dict(guarded([(b"content-type", b"application/json")]))
    assert set(found) == NAMES | {b"content-type"}
    assert found[b"content-security-policy"] == POLICY.encode()
    assert POLICY == "default-src 'none'; frame-ancestors 'none'"
    assert (found[b"cache-control"], found[b"x-content-type-options"]) == (b"no-store", b"nosniff")


def test_what_an_answer_says_itself_is_kept_once() -> None:
    own = [(b"content-security-policy", b"default-src 'self'"), (b"referrer-policy", b"origin")]
    found = guarded(own)
    assert found[:2] == own
    assert sorted(name for name, _ in found) == sorted(NAMES)
