"""Journals of matches in Redis or in the archive, for `export`, `show` and `audit`: read-only.

Only for whoever may read Redis.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from redis.exceptions import RedisError

from engine import journal
from engine.audit import JOURNAL_SUFFIX, Source
from services.archive import Archive, ArchiveDamaged
from services.commands import is_match_id
from services.sealing import Sealer, SealError
from services.settings import PREFIX, Settings, load
from services.signatures import SIGNATURE_SUFFIX, last_hash, signer
from services.storage import StorageError
from services.store import Store
from services.store.servers import unusable

ADDRESSES = "addresses.json"
"""In the folder of a running stack: where its parts listen."""
OBSERVER = "nats_observer.secret"
"""Beside it: the password of the NATS user that hears every view, readable by the stack's owner only."""
BATCH = 100


class JournalsError(Exception):
    """Journals cannot be read, or not be written; says why."""


def here() -> Settings:
    """Return the settings; where no Redis, NATS or key is set, that of a stack that runs in this folder is meant."""
    settings = load()
    found: dict[str, str] = {}
    addresses, observer = settings.data_dir / ADDRESSES, settings.data_dir / OBSERVER
    if addresses.exists():
        known = json.loads(addresses.read_text())
        found = {name: known[name.removesuffix("_url")] for name in ("redis_url", "nats_url")}
        elsewhere = os.environ.get(f"{PREFIX}NATS_URL") or settings.nats_user or settings.nats_seed
        if not elsewhere and os.access(observer, os.R_OK):
            found |= {"nats_user": "observer", "nats_password": observer.read_text()}
    for name in ("operator_key", "seed_key", "signing_key"):
        key = settings.data_dir / f"{name}.secret"
        if os.access(key, os.R_OK):
            found[name] = key.read_text().strip()
    return load(**{name: value for name, value in found.items() if not os.environ.get(PREFIX + name.upper())})


def sources(matches: Sequence[str]) -> Iterator[Source]:
    """Yield the journals of matches, in order: running ones with their seed, unknown ones without lines.

    What Redis does not hold is looked for in the archive. Without a key for seeds in the settings the seed of a running
    match is missing. Raises JournalsError if Redis or the archive cannot be read, or if a seed does not open.
    """
    return _read(matches, running=True)


def ended(matches: Sequence[str]) -> Iterator[Source]:
    """Yield the journals of matches that have ended. Raises JournalsError for a running or an unknown one."""
    return _read(matches, running=False)


def _read(matches: Sequence[str], *, running: bool) -> Iterator[Source]:
    settings = here()
    for match in matches:
        if not is_match_id(match):
            raise JournalsError(f"{match} is no match id: 25 lower-case letters and digits")
    for first in range(0, len(matches), BATCH):
        try:
            found = asyncio.run(_load(settings, matches[first : first + BATCH]))
        except (ArchiveDamaged, StorageError) as error:
            raise JournalsError(str(error)) from None
        except (RedisError, OSError) as error:
            raise JournalsError(str(unusable(error))) from None
        for source in found:
            if not running:
                _need_end(source)
            yield source


def _need_end(source: Source) -> None:
    if not source.lines:
        raise JournalsError(f"there is no match {source.name} in Redis or in an archive, or no longer")
    if not isinstance(journal.read(source.lines[-1]).body, journal.ENDS):
        raise JournalsError(f"match {source.name} is still running; its journal is secret until it ends")


async def _load(settings: Settings, matches: Sequence[str]) -> list[Source]:
    store = Store(settings)
    try:
        found = await store.load(matches)
    finally:
        await store.close()
    sealer = Sealer.of(settings) if settings.seed_key is not None else None
    archive = None if settings.archive is None else Archive.at(settings.archive)
    try:
        return [
            Source(
                match,
                lines=tuple(one.lines or (archive and archive.read(match)) or ()),
                seed=sealer.open(match, one.seed) if sealer and one.seed else None,
            )
            for match, one in zip(matches, found, strict=True)
        ]
    except SealError as error:
        raise JournalsError(f"CROUPIER_SEED_KEY: is another one; {error}") from None


def all_matches() -> list[str]:
    """Return the ids of all matches in Redis whose journal has ended, ascending. Raises JournalsError."""
    settings = here()

    async def find() -> list[str]:
        store = Store(settings)
        try:
            return await store.ended_matches()
        finally:
            await store.close()

    try:
        return asyncio.run(find())
    except (RedisError, OSError) as error:
        raise JournalsError(str(unusable(error))) from None


def export(matches: Sequence[str], folder: Path) -> Iterator[Path]:
    """Write each match's journal to `folder` as MATCH.jsonl, byte for byte; yield the files. Raises JournalsError.

    A file is there whole or not at all. With the operator's key in the settings MATCH.sig has his signature.
    """
    sign = signer(here())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in ended(matches):
            path = folder / (source.name + JOURNAL_SUFFIX)
            partial = path.with_suffix(".partial")
            partial.write_bytes(b"".join(line + b"\n" for line in source.lines))
            if sign is not None:
                signature = sign(last_hash(source.lines)).hex()
                path.with_suffix(SIGNATURE_SUFFIX).write_text(f"{signature}\n", "ascii")
            partial.replace(path)
            yield path
    except OSError as error:
        raise JournalsError(f"{folder} cannot be written: {error.strerror}") from None
