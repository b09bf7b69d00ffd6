"""What a server sent beside what a client had on its disk: bytes that came twice, and bytes that were lost under way."""

from __future__ import annotations

from benchmarks.catalogue.releases import path_of
from benchmarks.catalogue.server import FileServer
from onym.packs.recipe import PipelineRecipe
from onym.store.download import download_path


class Ledger:
    """Follows the files of a recipe in the current cache directory. `account` is called whenever a client has ended."""

    def __init__(self, server: FileServer, recipe: PipelineRecipe) -> None:
        files = [file for release in recipe.releases for file in release.files]
        files += [file for model in recipe.models for file in model.remote_files()]
        self.urls = {f"/{path_of(file.url)}": file.url for file in files}
        self.twice = self.in_flight = 0
        self._server, self._seen = server, len(server.answers)
        self._kept = {path: self.on_disk(path) for path in self.urls}

    def account(self) -> None:
        """Take the answers since the last time: a byte counts twice if the client had it already when it was sent.

        An answer that broke off had been received to its end when the same client asked again. What a client that was killed
        had received and not written yet is lost under way.
        """
        answers, ends = self._server.answers[self._seen :], dict(self._kept)
        self._seen += len(answers)
        for sent in answers:
            had, end = ends[sent.path], sent.start + sent.count
            self.twice += max(0, min(had, end) - sent.start)
            ends[sent.path] = max(had, end)
        for path, end in ends.items():
            self._kept[path] = self.on_disk(path)
            self.in_flight += max(0, end - self._kept[path])

    def unfinished(self) -> list[str]:
        """Return the paths of files that are not whole on the disk."""
        return [path for path, url in self.urls.items() if not download_path(url).is_file()]

    def on_disk(self, path: str) -> int:
        """Return how many bytes of a file the client has."""
        whole = download_path(self.urls[path])
        part = whole.with_name(f"{whole.name}.part")
        return next((each.stat().st_size for each in (whole, part) if each.is_file()), 0)
