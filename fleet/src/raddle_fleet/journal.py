"""The results that are there: a folder of files of `raddle merge`, one for each finished unit.

A file is written under another name and then renamed, so there is never half of one. The name says which part of the
search it is, so a unit that was executed twice has one file. A later reader of the folder sees all finished units.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

#: The file that describes the search.
SEARCH = "search.json"


class JournalError(Exception):
    """The folder cannot be used."""


class Journal:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which need not exist."""
        self.folder = folder

    def begin(self, search: dict[str, Any], resume: bool) -> None:
        """Begin a search, or continue the same one."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"cannot make {self.folder}: {error.strerror}") from error
        known = self.search()
        if known is None:
            self._write(SEARCH, search)
        elif not resume:
            raise JournalError(
                f"{self.folder} has the results of a search\nhelp: add --resume to continue it, or name another --state"
            )
        elif known != search:
            raise JournalError(
                f"{self.folder} has the results of another command: raddle {' '.join(known['command'])}\n"
                "help: repeat that command with --resume, or name another --state"
            )

    def search(self) -> dict[str, Any] | None:
        """Return the search that the results are of."""
        path = self.folder / SEARCH
        if not path.exists():
            return None
        value: dict[str, Any] = json.loads(path.read_text())
        return value

    def add(self, name: str, result: dict[str, Any]) -> None:
        """Keep the result of a unit."""
        self._write(f"{name}.result.json", result)

    def results(self) -> dict[str, dict[str, Any]]:
        """Return all results by the names of their units."""
        return {path.name.removesuffix(".result.json"): json.loads(path.read_text()) for path in self.files()}

    def files(self) -> list[Path]:
        """Return the files of all results."""
        return sorted(self.folder.glob("*.result.json"))

    def _write(self, name: str, value: dict[str, Any]) -> None:
        path = self.folder / name
        half = path.with_name(f".{name}.{os.getpid()}.part")
        try:
            with half.open("w") as file:
                json.dump(value, file)
                file.flush()
                os.fsync(file.fileno())
            half.replace(path)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise JournalError(f"cannot write {path}: {error.strerror}") from error
