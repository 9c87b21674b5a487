"""Where archives lie: a folder, or any object store that fsspec knows (`s3://bucket/path`, `gs://…`, `memory://…`).

Objects are written once, whole, and never changed; names are relative, with `/` between their parts.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

PARTIAL = ".partial"
LISTED_AGAIN = 5
"""How often a folder is listed from which something goes meanwhile."""


class StorageError(RuntimeError):
    """The storage cannot be used as it was named; says what to do."""


class Object(NamedTuple):
    """One object: its name and its size in bytes."""

    name: str
    size: int


class Storage(Protocol):
    """Named objects. What fails raises OSError; a name that is not there FileNotFoundError."""

    def write(self, name: str, data: bytes) -> None:
        """Store an object. On return the whole of it is there and survives a crash; before, nothing of it is seen."""

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` to before `end`."""

    def objects(self, under: str = "") -> list[Object]:
        """Return the objects whose names begin with the folder `under`, ascending by name."""

    def remove(self, name: str) -> None:
        """Remove an object; one that is not there is no error."""


def open_storage(where: str) -> Storage:
    """Return the storage at a path or URL. Raises StorageError."""
    scheme, separator, rest = where.partition("://")
    if not separator:
        return Folder(Path(where))
    if scheme == "file":
        return Folder(Path(rest))
    return Remote(where)


class Folder:
    """A folder of this machine, or one that is mounted."""

    def __init__(self, root: Path) -> None:
        """Use a folder, which is made with the first object."""
        self._root = root

    def write(self, name: str, data: bytes) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # A name of its own for each writer: two of them must not write into one file.
        partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        for folder in (path.parent, *path.parent.parents):
            _sync(folder)
            if folder == self._root:
                break

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with (self._root / name).open("rb") as file:
            file.seek(start)
            return file.read(-1 if end is None else end - start)

    def objects(self, under: str = "") -> list[Object]:
        found = list(self._walk(under))
        for _ in range(LISTED_AGAIN):
            if None not in found:
                break
            found = list(self._walk(under))
        return sorted(one for one in found if one is not None)

    def _walk(self, under: str) -> Iterator[Object | None]:
        """Yield what is there; None for what was removed while it was listed: what took its place is not listed."""
        for folder, _, names in os.walk(self._root / under):
            for name in names:
                path = Path(folder, name)
                if path.suffix != PARTIAL:
                    try:
                        yield Object(path.relative_to(self._root).as_posix(), path.stat().st_size)
                    except FileNotFoundError:
                        yield None

    def remove(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make the names in a folder survive a crash."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Remote:
    """A file system of fsspec. Object stores show an object only when it is whole."""

    def __init__(self, url: str) -> None:
        """Use what a URL names. Raises StorageError."""
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra: folders do without it
        except ImportError:
            raise StorageError(f"{url} needs fsspec: pip install 'croupier-server[objects]'") from None
        self._url = url
        try:
            self._fs, self._root = _opened(url_to_fs, url)
        except (ImportError, ValueError) as error:
            raise StorageError(f"{url} cannot be opened: {error}") from None

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def write(self, name: str, data: bytes) -> None:
        path = self._path(name)
        with self._failing():
            try:
                self._fs.pipe_file(path, data)
            except FileNotFoundError:
                # A folder is missing, which is made; or the whole bucket, which is not: its name may be mistyped.
                if not self._fs.exists(path.partition("/")[0] or "/"):
                    raise
                self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._fs.pipe_file(path, data)

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self._failing():
            data: bytes = self._fs.cat_file(self._path(name), start=start or None, end=end)
        return data

    def objects(self, under: str = "") -> list[Object]:
        with self._failing():
            self._fs.invalidate_cache()
            try:
                found = self._fs.find(self._path(under), detail=True)
            except FileNotFoundError:
                return []
        skip = len(self._root.rstrip("/")) + 1
        return sorted(Object(path[skip:], int(about["size"])) for path, about in found.items())

    def remove(self, name: str) -> None:
        with self._failing():
            try:
                self._fs.rm_file(self._path(name))
            except FileNotFoundError:
                return

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise OSError for what a store's package raises of its own, and say which store it is."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"{self._url}: {type(error).__name__}: {error}") from error


def _opened(url_to_fs: Any, url: str) -> tuple[Any, str]:
    fs, root = url_to_fs(url)
    return fs, str(root)
