"""The game of examples/tiny_game, registered from outside, and the page of the docs that was written by making it."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import view_pb2
from engine import bots, journal, registry
from engine.audit import audit
from services import tables, wire
from services.jobs import WORTH_PROCESSES
from services.play_wish import setups
from services.stack import Stack
from services.tables import menu
from services.words import Catalogue, Language, Speaker
from services.words.screen import SAY
from tests.e2e.conftest import environment
from tests.e2e.table import Api, Played, Robot, api, awaited, begin, connected, entries_of, kept, part, refusal

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "tiny_game"
PAGE = ROOT / "docs" / "adding_a_game.md"
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
GROUP = registry.ENTRY_POINTS
GAME_1, GAME_2 = "lone_peak:LonePeak", "lone_peak:LonePeak2"
BOTS = bots.ENTRY_POINTS
SETTINGS = dict(os.environ) | {"COLUMNS": "120", "NO_COLOR": "1"}


Groups = Mapping[str, Mapping[str, str]]


def install(folder: Path, name: str, groups: Groups, module: str = "") -> Path:
    """What pip leaves of a package with one module, in a folder that is to be on the path."""
    info = folder / f"{name.replace('-', '_')}-1.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    if module:
        (folder / f"{name.replace('-', '_')}.py").write_text(module)
    return folder


def install_example(folder: Path, *, editable: Path | None = None) -> dict[str, str]:
    """The environment of processes that have the package, going by its pyproject.toml; perhaps as it is edited."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
    install(folder, project["project"]["name"], project["project"]["entry-points"])
    if editable is None:
        for module in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
            shutil.copy(EXAMPLE / module, folder)
    path = [folder, editable, os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(str(each) for each in path if each)}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install_example(tmp_path_factory.mktemp("installed"))


def run(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> tuple[int, str]:
    """The exit code and all the output of a process."""
    done = subprocess.run(
        [sys.executable, *command],
        check=False,
        env={**SETTINGS, **(env or {})},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout


def croupier(*args: str | Path, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    return run("-m", "services.cli", *args, env=env)


# --- registered from outside -----------------------------------------------------------------------------------------


def test_the_game_is_tiny_and_installed_nowhere_by_default():
    assert len((EXAMPLE / "lone_peak.py").read_text().splitlines()) < 150
    assert "lone_peak" not in {game.name for game in registry.games()}


def test_an_entry_point_registers_it_behind_the_built_in_games(installed: dict[str, str]):
    code = "from engine import registry; print(*(game.rules for game in registry.games()))"
    built_in = run("-c", code)[1].split()
    assert run("-c", code, env=installed)[1].split() == [*built_in, "lone_peak/1"]


GOOD = "from lone_peak import LonePeak\n"


@pytest.mark.parametrize(
    ("module", "point", "said"),
    [
        ("import no_such_module\n", "bad_game:Bad", "does not load: ModuleNotFoundError: No module named"),
        (GOOD, "bad_game:Missing", "does not load: AttributeError"),
        ("def Bad(): raise OSError('the disk is full')\n", "bad_game:Bad", "does not load: OSError: the disk is full"),
        ("class Bad: pass\n", "bad_game:Bad", "makes no Game but a Bad"),
        (GOOD + "class Bad(LonePeak): name = 'Bad/Game'\n", "bad_game:Bad", "'Bad/Game' is not a name in snake case"),
        (GOOD + "class Bad(LonePeak): name = 'bombenziehen'\n", "bad_game:Bad", "is the name of a built-in game"),
        (
            GOOD + "class Bad(LonePeak): name, rules_version = 'bombenziehen', 2\n",
            "bad_game:Bad",
            "is the name of a built-in game",
        ),
        (GOOD + "class Bad(LonePeak): pass\n", "bad_game:Bad", "lone_peak/1 is already registered by the game"),
    ],
)
def test_a_game_that_does_not_load_is_named_with_its_package(
    installed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, point: str, said: str
):
    install(tmp_path, "bad-game", {GROUP: {"bad": point}}, module)
    for folder in (installed["PYTHONPATH"].split(os.pathsep)[0], str(tmp_path)):
        monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "bad_game", raising=False)
    before = set(sys.modules)
    try:
        with pytest.raises(registry.GameNotLoaded) as raised:
            registry._registered.__wrapped__()
    finally:
        for name in {"bad_game", "lone_peak"} - before:
            sys.modules.pop(name, None)
    message = str(raised.value)
    assert said in message
    if "already registered" in message:
        assert "lone-peak 1.0.0" in message
    assert "bad-game 1.0.0" in message


@pytest.mark.parametrize("command", [("audit", EXAMPLE / "histories"), ("engine",), ("match",)])
def test_no_command_goes_on_without_a_game_that_does_not_load(tmp_path: Path, command: tuple[str | Path, ...]):
    """A broken package is a fault of the installation: of no journal, and in no match."""
    install(tmp_path, "bad-game", {GROUP: {"bad": "bad_game:Bad"}}, "import no_such_module\n")
    code, output = croupier(*command, env={"PYTHONPATH": str(tmp_path)})
    assert code == 2
    assert "the game bad_game:Bad of the package bad-game 1.0.0 does not load" in " ".join(output.split())
    assert "Traceback" not in output


def test_two_rules_versions_are_two_entry_points(tmp_path: Path):
    module = (EXAMPLE / "lone_peak.py").read_text() + "\n\nclass LonePeak2(LonePeak):\n    rules_version = 2\n"
    install(tmp_path, "lone-peak", {GROUP: {"one": "lone_peak:LonePeak", "two": "lone_peak:LonePeak2"}}, module)
    code = (
        "from engine import registry; print(registry.newest('lone_peak').rules, registry.find('lone_peak/1').rules);"
        "from engine.scenario import run; from pathlib import Path;"
        f"text = Path({str(EXAMPLE / 'scenarios' / 'three_rounds.json')!r}).read_text();"
        "run(text.encode()); run(text.replace('{', '{\"rules\": \"lone_peak/1\", ', 1).encode());"
        "run(text.replace('{', '{\"rules\": \"lone_peak/3\", ', 1).encode())"
    )
    _, output = run("-c", code, env={"PYTHONPATH": str(tmp_path)})
    assert output.splitlines()[0] == "lone_peak/2 lone_peak/1"
    assert "set-up: no rules are registered as 'lone_peak/3'" in output.splitlines()[-1]


BOT = "from lone_peak_bot import LonePeakBot\nclass Bad(LonePeakBot):"


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import no_such_module\n", "does not load: ModuleNotFoundError: No module named"),
        ("class Bad: pass\n", "makes no Bot but a Bad"),
        (f"{BOT} game = 'bombenziehen'\n", "'bombenziehen' is a built-in game"),
        (f"{BOT} game, version = 'loan_peak', 2\n", "there is no game called 'loan_peak'"),
        (f"{BOT} pass\n", "version 1 for lone_peak is already registered by the computer players lone_peak_bot"),
        (f"{BOT} version, levels = 2, ('open',)\n", "'open' is no name for a level"),
        (f"{BOT} version, levels = 2, ('Very clever',)\n", "'Very clever' is no name for a level"),
        (f"{BOT} version, levels = 2, ()\n", "they have no level"),
    ],
)
def test_computer_players_that_do_not_load_are_named_with_their_package(
    installed: dict[str, str], tmp_path: Path, module: str, said: str
):
    """By every command, as a game that does not load is."""
    install(tmp_path, "worse-game", {BOTS: {"bad": "worse_game:Bad"}}, module)
    path = f"{installed['PYTHONPATH']}{os.pathsep}{tmp_path}"
    code, output = croupier("settings", env={"PYTHONPATH": path})
    assert code == 2
    told = " ".join(output.split())
    assert "the computer players worse_game:Bad of the package worse-game 1.0.0" in told
    assert said in told
    assert "Traceback" not in output


def test_two_versions_of_computer_players_are_two_entry_points(installed: dict[str, str], tmp_path: Path):
    """New matches get the newest, what was played with the old one is computed with the old one."""
    install(tmp_path, "worse-game", {BOTS: {"two": "worse_game:Bad"}}, f"{BOT} version = 2\n")
    code = (
        "from engine import bots; print([bot.version for bot in bots.versions('lone_peak')], bots.newest('lone_peak'))"
    )
    _, output = run("-c", code, env={"PYTHONPATH": f"{installed['PYTHONPATH']}{os.pathsep}{tmp_path}"})
    assert output.startswith("[1, 2] <worse_game.Bad object")


# --- the laws --------------------------------------------------------------------------------------------------------


SECRECY = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/laws/test_secrecy.py")


def test_a_leak_breaks_the_law_of_secrecy(tmp_path: Path):
    """The laws, which the docs run as they should be, are no formality: told in public what was laid, they fail."""
    source = (EXAMPLE / "lone_peak.py").read_text()
    leak = source.replace("Whispered(Laid(seat, None)", "Whispered(Laid(seat, move.card)")
    path = install(tmp_path, "lone-peak", {GROUP: {"lone_peak": "lone_peak:LonePeak"}}, leak)
    env = {"PYTHONPATH": f"{path}{os.pathsep}{EXAMPLE}"}
    code, output = run(*SECRECY, "-p", "lone_peak_laws", "-k", "lone_peak", env=env)
    assert code == 1
    assert "test_events_tell_no_more_than_the_views_do[lone_peak/1 2 seats #0]" in output


def test_the_laws_fail_for_a_game_of_which_they_are_not_told(installed: dict[str, str]):
    code, output = run(*SECRECY, "-k", "lone_peak and re_dealt", env=installed)
    assert code == 1
    assert "a game needs a redeal" in output


HEAP_LAWS = """
from tests.laws.redeal import PLACES, REDEALS

REDEALS["heap/1"] = lambda state, seat, rng: state
PLACES["heap"] = ()
"""


def test_the_laws_hold_of_a_game_without_cards_and_secrets(tmp_path: Path):
    """All but that it has files of its own, which it has not."""
    path = install(tmp_path, "heap", {GROUP: {"heap": "heap:Heap"}}, (Path(__file__).with_name("heap.py")).read_text())
    (path / "heap_laws.py").write_text(HEAP_LAWS)
    laws = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "heap_laws", "tests/laws", "-k", "heap")
    laws += ("--ignore", "tests/laws/test_completeness.py")
    code, output = run(*laws, env={"PYTHONPATH": str(path)})
    assert code == 0, output
    assert " passed" in output


# --- on the real stack -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, installed: dict[str, str]) -> Iterator[Stack]:
    """Match service and workers that have the package; this process, the client, has it not."""
    with Stack(tmp_path_factory.mktemp("stack"), engines=2, env=environment() | installed) as stack:
        yield stack


def generic(move: Any) -> dict[str, Any]:
    return {"generic": {"name": "lone_peak", "data": move}}


@awaited
async def play(stack: Stack, played: list[Played]) -> None:
    async with connected(stack) as client:
        played.append(await (await begin(client, "lone_peak", 4, {"rounds": 3})).end())


def test_a_match_through_all_services_is_verified_where_the_rules_are_and_has_unknown_rules_elsewhere(
    stack: Stack, tmp_path: Path
):
    """Played by robots that see only views; the journal is in Redis, exported, audited and shown."""
    matches: list[Played] = []
    play(stack, matches)
    (played,) = matches
    views = [seat.view for seat in played.seats]
    assert {view["status"] for view in views} == {"finished"}
    assert {view["rules"] for view in views} == {"lone_peak/1"}
    assert {view["generic"]["name"] for view in views} == {"lone_peak"}
    assert all(len(view["generic"]["table"]["trails"]) == 3 for view in views)
    assert sum(robot.moves for robot in played.robots) == 12
    has = {**stack.environment}
    has_not = {name: value for name, value in has.items() if name != "PYTHONPATH"}
    assert croupier("export", played.match, "--out", tmp_path, env=has)[0] == 0
    file = tmp_path / f"{played.match}.jsonl"
    assert journal.split(file.read_bytes()) == [line for line, _ in kept(stack, played.match)]
    anchor = f"{played.match}={views[0]['hash']}"
    code, output = croupier("audit", file, "--hash", anchor, env=has)
    assert (code, output.splitlines()[-1]) == (0, "1 verified, 0 consistent, 0 different")
    code, output = croupier("audit", played.match, env=has)
    assert (code, output.splitlines()[-1]) == (0, "0 verified, 1 consistent, 0 different")
    code, output = croupier("audit", file, "--hash", anchor, env=has_not)
    assert code == 1
    assert "entry 0, rules: no rules are registered as 'lone_peak/1'" in output
    code, output = croupier("show", played.match, env=has)
    assert code == 0
    assert "Lone Peak  lone_peak/1" in output
    assert "uncovered: [Peak " in output
    code, output = croupier("show", file, "--lang", "de", "--hands", env=has)
    assert "| Player 0: hand [Gipfel " in output
    code, output = croupier("show", file, env=has_not)
    assert (code, output.strip()) == (1, "entry 0 differs (rules): no rules are registered as 'lone_peak/1'")


@awaited
async def against_computers(stack: Stack, made: list[pb.CreateMatchResponse]) -> None:
    async with connected(stack) as client, api(stack) as front:
        info = (await front.stub.ListGames(pb.ListGamesRequest(game="lone_peak"))).games[0]
        assert [level.name for level in info.levels] == ["reckless", "clever"]
        request = pb.CreateMatchRequest(
            request_id=os.urandom(16),
            options=wire.options_to_proto("lone_peak", {"rounds": 2}),
            seats=setups(("open", "clever", "reckless"), 0),
            fresh_code=True,
        )
        made.append(await client.send_create(request))
        robot = Robot("person")
        await client.join(made[0].match, "Anna", robot.see)
        await robot.over
        assert robot.seat.view["code"] == made[0].code
        seats = setups(("open", "ruthless"), 0)
        asked = pb.CreateMatchRequest(request_id=os.urandom(16), options=request.options, seats=seats)
        created = front.stub.CreateMatch(asked, metadata=front.operator)
        assert (await refusal(created))[1] == "BAD_SEATS"


def test_computer_players_from_outside_play_and_are_computed_again(stack: Stack):
    """Over the wire like any others; without the package an audit cannot know what they should have done."""
    made: list[pb.CreateMatchResponse] = []
    against_computers(stack, made)
    moves = [entry for entry in entries_of(stack, made[0].match) if entry["kind"] == "moved"]
    assert sorted({entry["bot"]["policy"] for entry in moves if entry["by"] == "bot"}) == ["clever", "reckless"]
    code, output = croupier("audit", made[0].match, env=stack.environment)
    assert (code, output.splitlines()[-1]) == (0, "0 verified, 1 consistent, 0 different")


@awaited
async def test_moves_and_views_travel_in_the_generic_arm(stack: Stack) -> None:
    """In binary too; what no game can have meant is malformed, what this one forbids is illegal."""
    async with api(stack) as front:
        info = (await front.stub.ListGames(pb.ListGamesRequest(game="lone_peak"))).games[0]
        assert (info.titles.de, list(info.rules)) == ("Einsame Spitze", ["lone_peak/1"])
        assert (info.options[0].name, info.options[0].range.max) == ("rounds", 3)
        assert [card.counts[0].count for card in info.cards] == [2] * 6
        _, reason, _ = await refusal(front.create("lone_peak", 2, options={"rounds": 4}))
        assert reason == "BAD_OPTIONS"
        seats = await front.started("lone_peak", 2, options={"rounds": 1})
        view = await front.view(seats[0].token)
        assert view.WhichOneof("game") == "generic"
        assert dict(view.options.generic.data) == {"rounds": 1}
        (legal,) = part(view).legal
        for move, reason in [
            (generic({"lay": {"card": "7"}}), "ILLEGAL_MOVE"),
            (generic({"lay": {"card": 4}}), "MALFORMED_MOVE"),
            (generic({"lay": {}}), "MALFORMED_MOVE"),
            (generic({"fold": {}}), "MALFORMED_MOVE"),
            (generic({"lay": {"card": 0.5}}), "MALFORMED_MOVE"),
            ({"generic": {"name": "another", "data": {"lay": {"card": "4"}}}}, "MALFORMED_MOVE"),
            ({"timos_twist": {"draw": {}}}, "MALFORMED_MOVE"),
        ]:
            assert (await refusal(front.submit(seats[0].token, view.prompt, move)))[1] == reason, move
        move = view_pb2.GameMove(generic=view_pb2.GenericGame(name="lone_peak", data=legal))
        version = await front.submit(seats[0].token, view.prompt, move)
        assert await front.submit(seats[0].token, view.prompt, move) == version
        await sealed(front, [seat.token for seat in seats], version)


async def sealed(front: Api, tokens: list[str], version: int) -> None:
    """After the first of two has laid, the other knows that he has; his prompt is the one it was."""
    mine, theirs = [await front.view(token) for token in tokens]
    assert mine.version == theirs.version == version
    assert dict(part(mine).own)["laid"] == part(mine).events[0]["laid"]["card"] is not None
    assert part(theirs).events[0]["laid"]["card"] is None
    assert list(part(theirs).table["answered"]) == [0]
    assert theirs.prompt < version
    (legal,) = part(theirs).legal
    move = view_pb2.GameMove(generic=view_pb2.GenericGame(name="lone_peak", data=legal))
    await front.submit(tokens[1], theirs.prompt, move)
    assert (await front.view(tokens[1])).status == "finished"


@pytest.mark.parametrize("lang", get_args(Language))
def test_a_client_without_the_rules_draws_the_table(stack: Stack, lang: Language) -> None:
    """From the catalogue that the server tells and from views, whether they came over NATS or were asked for."""

    @awaited
    async def look() -> None:
        async with api(stack) as front, connected(stack) as client:
            catalogue = Catalogue.told((await front.stub.ListGames(pb.ListGamesRequest(game="lone_peak"))).games[0])
            match, _ = await client.create("lone_peak", 2)
            anna, bob = [await client.join(match, name) for name in ("Anna", "Bob")]
            await anna.heal()
            await anna.move(anna.legal[0])
            await bob.heal()
            speaker = Speaker(catalogue, lang, ["Anna", "Bob"])
            scene = tables.scene(bob.view, speaker, SAY[lang])
            assert scene is not None
            shown = "\n".join(line.plain for line in [*tables.draw(scene, 80), *tables.hand(scene, 80)])
            peak = {"de": "Gipfel", "en": "Peak"}[lang]
            assert "▶ Bob" in shown
            assert "answered: Anna" in shown
            assert f"hand: {', '.join(f'{peak} {code}' for code in bob.part['own']['hand'])}" in shown
            uncovered = {"trails": [{"cards": ["2", "4"]}, {"cards": ["3", "3"]}]}
            assert f"{peak} 2, {peak} 4 | {peak} 3, {peak} 3" in speaker.event({"told": uncovered}).plain
            offered = menu.choices(scene, bob.legal, 10, 80)
            assert [choice.move for choice in offered] == bob.legal
            assert offered[0].label.plain == f"lay · card {peak} {bob.legal[0]['lay']['card']}"

    look()


# --- journals --------------------------------------------------------------------------------------------------------


def test_an_audit_on_all_cores_finds_the_rules_in_every_process(tmp_path: Path, installed: dict[str, str]):
    for number in range(WORTH_PROCESSES + 4):
        for suffix in (".jsonl", ".hash"):
            shutil.copy((EXAMPLE / "histories" / "lone_peak_1").with_suffix(suffix), tmp_path / f"{number}{suffix}")
    code, output = croupier("audit", "--quiet", tmp_path, env=installed)
    assert (code, output) == (0, "")
    code, output = croupier("audit", tmp_path)
    assert code == 1
    assert output.splitlines()[-1] == f"0 verified, 0 consistent, {WORTH_PROCESSES + 4} different"


def test_two_versions_are_compared_in_every_process(tmp_path: Path):
    """The second lets nobody lay the last card that he may."""
    module = (EXAMPLE / "lone_peak.py").read_text() + textwrap.dedent("""

        class LonePeak2(LonePeak):
            rules_version = 2

            def legal(self, state, seat):
                moves = super().legal(state, seat)
                return moves[:-1] if len(moves) > 1 else moves
    """)
    installed = install(tmp_path / "package", "lone-peak", {GROUP: {"one": GAME_1, "two": GAME_2}}, module)
    journals = tmp_path / "journals"
    journals.mkdir()
    for number in range(WORTH_PROCESSES + 4):
        shutil.copy(EXAMPLE / "histories" / "lone_peak_1.jsonl", journals / f"{number}.jsonl")
    command = ("impact", journals, "--from", "lone_peak/1", "--workers", "2")
    env = {"PYTHONPATH": str(installed)}
    code, output = croupier(*command, "--to", "lone_peak/2", env=env)
    assert code == 1
    assert output.splitlines()[-1] == f"{WORTH_PROCESSES + 4} matches, {WORTH_PROCESSES + 4} part: 20 in legal"
    assert croupier(*command, "--to", "lone_peak/1", "-q", env=env) == (0, "")


def test_without_the_rules_an_audit_says_so_and_nothing_else():
    lines = journal.split((EXAMPLE / "histories" / "lone_peak_1.jsonl").read_bytes())
    difference = audit(lines).difference
    assert difference is not None
    assert (difference.version, difference.field) == (0, "rules")


# --- the page of the docs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [block for block in BLOCKS if block[0] != "sh"], ids=lambda block: block[2][:40])
def test_an_excerpt_in_the_docs_is_in_the_file_that_it_names(block: tuple[str, str, str]):
    language, name, excerpt = block
    file = ROOT / name
    assert file.suffix == {"python": ".py"}.get(language, f".{language}")
    lines, source = dense(excerpt), dense(file.read_text())
    assert any(dense("\n".join(source[at : at + len(lines)])) == lines for at in range(len(source)))


def dense(text: str) -> list[str]:
    """The lines that are not blank, as far to the left as they go together: the formatter moves those of the docs."""
    return [line for line in textwrap.dedent(text).splitlines() if line]


def test_the_commands_in_the_docs_do_what_they_say(tmp_path: Path):
    """Run in order, in a copy, with the package installed as it is edited; what they record is what is recorded."""
    for folder in ("examples", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    example = tmp_path / "examples" / "tiny_game"
    for folder in ("golden", "histories"):
        shutil.rmtree(example / folder)
    env = install_example(tmp_path / "installed", editable=example)
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = "\n".join(text for language, _, text in BLOCKS if language == "sh")
    done = subprocess.run(
        ["sh", "-ex"],
        check=False,
        input=script,
        env={**SETTINGS, **env},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed, 0 failed" in done.stdout
    assert "3 verified, 0 consistent, 0 different" in done.stdout
    assert re.search(r"^1\d\d passed", done.stdout, re.MULTILINE)
    for folder in ("golden", "histories"):
        recorded = {path.name: path.read_bytes() for path in (EXAMPLE / folder).iterdir()}
        assert {path.name: path.read_bytes() for path in (example / folder).iterdir()} == recorded
