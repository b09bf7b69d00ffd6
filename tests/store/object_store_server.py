"""A local S3 server for tests: moto's server in a separate process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BUCKET = "bucket"
SECRET = "a-secret-that-nobody-may-see"


@contextmanager
def object_store(environment: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a server with one bucket, set its endpoint and credentials in the environment, and yield the bucket's URL."""
    from pyarrow.fs import S3FileSystem

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            endpoint = f"http://127.0.0.1:{port}"
            settings = {"ENDPOINT_URL": endpoint, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}
            for name, value in settings.items():
                environment.setenv(f"AWS_{name}", value)
            S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True).create_dir(BUCKET)
            yield f"s3://{BUCKET}"
        finally:
            server.kill()


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError
