"""Entry point of a linker process, which opens a pipeline and answers jobs: `python -m onym.serve.worker`.

It reads lines of JSON from standard input: first the pipeline to open, then lists of jobs. It writes a line with `ready` or
`error` to standard output, and then for each job a line with the HTTP status and the size in bytes of the JSON that follows,
which the HTTP process passes on unchanged. The process exits when standard input is closed.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

from onym.errors import is_failure, to_onym_error
from onym.workers import error_reply, iter_commands, leave, own_stdout, say


def main() -> int:
    """Answer jobs until standard input is closed."""
    replies = own_stdout()
    commands = iter_commands(sys.stdin.buffer)
    first = next(commands)
    try:
        from onym.serve.answers import JobRunner

        answers = JobRunner.open(first["pipeline"], first.get("opening", {}))
    except BaseException as e:
        if not is_failure(e):
            raise
        error = to_onym_error(e, caught_in=__file__)
        say(replies, error_reply(error))
        return error.exit_status
    say(replies, {"ready": True, **answers.release})
    for command in commands:
        for status, body in answers.of(command["jobs"]):
            reply(replies, status, body)
    return 0


def reply(replies: BinaryIO, status: int, body: bytes) -> None:
    """Write a reply: status, size and body.

    >>> import io
    >>> replies = io.BytesIO()
    >>> reply(replies, 200, b"{}")
    >>> replies.getvalue()
    b'200 2\\n{}'
    """
    data = memoryview(b"%d %d\n%b" % (status, len(body), body))
    while data:  # an unbuffered pipe may accept only a part of the data
        data = data[replies.write(data) or 0 :]


if __name__ == "__main__":
    leave(main())
