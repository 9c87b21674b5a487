"""`croupier audit`, `scenario` and `show` as somebody at a terminal, or a script, meets them."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import redis
import typer
from typer.testing import CliRunner, Result

from engine import journal
from engine.audit import Source, files, parse_hash
from services import cli_audit, cli_journal
from services.audit_report import audit_all
from services.jobs import WORTH_PROCESSES
from services.sealing import Sealer
from services.show import WORDS, Story, printable
from services.store.keys import journal_key, seed_key

HISTORIES = Path(__file__).parents[1] / "histories"
SCENARIOS = Path(__file__).parents[1] / "scenarios"
RECORDED = sorted(HISTORIES.glob("*.jsonl"))
REFERENCE = HISTORIES / "timos_twist_reference.jsonl"
LINES = journal.split(REFERENCE.read_bytes())
KEY = bytes(range(32, 64))
MATCH = "025sv64h4mddscxqmocoirec5"
HASH = REFERENCE.with_suffix(".hash").read_text().strip()


def croupier(*args: object, keys: str = "") -> Result:
    """What a command says, in this process; `keys` is what is piped into it."""
    app = typer.Typer()
    cli_audit.register(app, "Journals")
    cli_journal.register(app, "Journals")
    return CliRunner().invoke(app, [str(arg) for arg in args], input=keys)


@pytest.fixture
def unanchored(tmp_path: Path) -> Path:
    """The reference journal without a hash beside it."""
    path = tmp_path / "good.jsonl"
    path.write_bytes(REFERENCE.read_bytes())
    return path


@pytest.fixture
def tampered(tmp_path: Path) -> Path:
    """The reference journal with one card changed."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(REFERENCE.read_bytes().replace(b'"blue-3"', b'"pink-9"', 1))
    return path


# --- audit -----------------------------------------------------------------------------------------------------------


def test_every_journal_of_a_folder_is_audited_and_counted():
    result = croupier("audit", HISTORIES)
    assert result.exit_code == 0
    assert result.stdout.count("verified  ") == len(RECORDED)
    assert result.stdout.splitlines()[-1] == f"{len(RECORDED)} verified, 0 consistent, 0 different"


def test_the_audit_goes_on_after_a_bad_journal_and_exits_with_1(tampered, unanchored):
    result = croupier("audit", tampered, unanchored, REFERENCE)
    assert result.exit_code == 1
    assert "entry 4, legality: " in result.stdout
    assert result.stdout.splitlines()[-1] == "1 verified, 1 consistent, 1 different"


def test_quiet_says_nothing_of_good_journals(tampered):
    assert croupier("audit", "--quiet", HISTORIES).output == ""
    result = croupier("audit", "--quiet", tampered, REFERENCE)
    assert str(REFERENCE) not in result.stdout
    assert "entry 4, legality: " in result.stdout


def test_a_hash_given_by_hand_anchors_the_match_it_names(unanchored):
    result = croupier("audit", unanchored, "--hash", f"{MATCH}={HASH}")
    assert (result.exit_code, "1 verified" in result.stdout) == (0, True)
    result = croupier("audit", unanchored, REFERENCE, "--hash", f"{MATCH}={'00' * 32}")
    assert result.exit_code == 1
    assert result.stdout.count("last hash: expected 00") == 2


def test_a_hash_of_a_match_that_no_journal_holds_is_a_failure(unanchored):
    result = croupier("audit", unanchored, "--hash", f"000other={HASH}")
    assert result.exit_code == 1
    assert "no journal of it" in result.stdout


def test_the_report_can_be_read_by_a_program(tampered, unanchored):
    report = json.loads(croupier("audit", "--json", tampered, unanchored).stdout)
    assert {name: report[name] for name in ("verified", "consistent", "different")} == {
        "verified": 0,
        "consistent": 1,
        "different": 1,
    }
    assert [each["source"] for each in report["journals"]] == [str(tampered), str(unanchored)]
    verdict = report["journals"][0]["verdict"]
    assert (verdict["match"], verdict["difference"]["version"]) == (MATCH, 4)
    assert report["journals"][1]["verdict"]["difference"] is None


@pytest.fixture
def recorded(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Writes the first entries of the reference journal to Redis, as a worker does."""
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    monkeypatch.setenv("CROUPIER_SEED_KEY", KEY.hex())

    def record(entries: int) -> None:
        with redis.Redis.from_url(redis_url) as client:
            for version, line in enumerate(LINES[:entries]):
                client.xadd(journal_key(MATCH), {"line": line, "hash": b"h" * 32}, id=f"{version + 1}-0")
            client.set(seed_key(MATCH), Sealer(KEY).seal(MATCH, bytes(range(32))))

    return record


def test_a_match_that_has_ended_is_exported_byte_for_byte_and_shown(recorded, tmp_path):
    recorded(len(LINES))
    result = croupier("export", "--out", tmp_path)
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / MATCH}.jsonl\n1 journals written\n"
    assert (tmp_path / f"{MATCH}.jsonl").read_bytes() == REFERENCE.read_bytes()
    assert croupier("show", MATCH).stdout == croupier("show", REFERENCE).stdout


def test_the_journal_of_a_running_match_is_not_given_out(recorded, tmp_path):
    recorded(60)
    for command in (("export", MATCH, "--out", tmp_path), ("show", MATCH)):
        result = croupier(*command)
        assert (result.exit_code, "still running" in result.stderr, result.stdout) == (2, True, "")
    assert list(tmp_path.iterdir()) == []
    assert croupier("export", "--out", tmp_path).stdout == "0 journals written\n"


def test_a_redis_that_is_away_is_named_with_the_setting(monkeypatch):
    monkeypatch.setenv("CROUPIER_REDIS_URL", "redis://127.0.0.1:1/0")
    result = croupier("audit", MATCH)
    assert (result.exit_code, "CROUPIER_REDIS_URL" in result.stderr) == (2, True)


def test_a_match_in_redis_is_audited_by_its_id(recorded, monkeypatch):
    recorded(60)
    result = croupier("audit", MATCH)
    assert (result.exit_code, "running" in result.stdout) == (0, True)
    monkeypatch.setenv("CROUPIER_SEED_KEY", "0" * 64)
    result = croupier("audit", MATCH)
    assert (result.exit_code, "CROUPIER_SEED_KEY" in result.stderr, KEY.hex() in result.stderr) == (2, True, False)
    monkeypatch.delenv("CROUPIER_SEED_KEY")
    assert croupier("audit", MATCH).exit_code == 1
    result = croupier("audit", MATCH, "000" + "x" * 22)
    assert result.exit_code == 1
    assert "no entries" in result.stdout


@pytest.mark.parametrize(
    "args",
    [
        ("audit",),
        ("audit", "nowhere"),
        ("audit", REFERENCE, "nowhere"),
        ("audit", REFERENCE, "--hash", "x"),
        ("audit", REFERENCE, "--hash", f"{MATCH}=00"),
        ("audit", SCENARIOS),
        ("scenario",),
        ("scenario", "nowhere"),
        ("scenario", SCENARIOS, "nowhere"),
        ("show",),
        ("show", "nowhere"),
        ("show", HISTORIES),
        ("show", REFERENCE, "--at", "170"),
        ("show", REFERENCE, "--seat", "2"),
        ("show", REFERENCE, "--lang", "xx"),
    ],
)
def test_a_command_that_was_asked_wrongly_exits_with_2_and_says_why_on_stderr(args):
    result = croupier(*args)
    assert result.exit_code == 2
    assert result.stderr
    assert not result.stdout


def test_all_cores_give_the_verdicts_in_the_order_of_the_sources(tmp_path, tampered):
    """Enough journals that other processes are started, one in five of them bad, none with a hash."""
    many = [tampered if i % 5 == 0 else RECORDED[i % len(RECORDED)] for i in range(3 * WORTH_PROCESSES)]
    together = list(audit_all(files(many), workers=2))
    assert together == list(audit_all(files(many), workers=1))
    assert [name for name, _ in together] == [str(path) for path in many]
    assert [verdict.outcome == "different" for _, verdict in together] == [path == tampered for path in many]


def test_sources_are_read_as_they_are_needed():
    """More matches than memory holds: the stream of them is not collected first."""
    asked = []

    def endless() -> Iterable[Source]:
        while True:
            asked.append(1)
            yield Source("m", lines=tuple(LINES[:3]), seed=bytes(range(32)))

    audited = audit_all(endless(), {MATCH: parse_hash(HASH)}, workers=1)
    for _ in range(2 * WORTH_PROCESSES):
        assert next(audited).verdict.difference.field == "last hash"
    assert len(asked) <= 3 * WORTH_PROCESSES


# --- scenario --------------------------------------------------------------------------------------------------------


def test_scenarios_that_hold_are_counted():
    files_there = len(list(SCENARIOS.rglob("*.json")))
    result = croupier("scenario", SCENARIOS)
    assert result.exit_code == 0
    assert result.stdout == f"{files_there} passed, 0 failed\n"


def test_a_scenario_that_fails_is_named_with_its_step_and_the_difference(tmp_path):
    data = json.loads((SCENARIOS / "timos_twist" / "01_sheet_example.json").read_text())
    step = next(i for i, each in enumerate(data["steps"]) if "expect" in each)
    data["steps"][step]["expect"] = {"to_act": [5]}
    bad, broken = tmp_path / "bad.json", tmp_path / "broken.json"
    bad.write_text(json.dumps(data))
    broken.write_bytes(b"\xff{")
    result = croupier("scenario", tmp_path, SCENARIOS / "timos_twist" / "01_sheet_example.json")
    assert result.exit_code == 1
    first, second, last = result.stdout.splitlines()
    assert re.fullmatch(rf"{re.escape(str(bad))}: step {step}: to_act: expected \[5\], got \[\d\]", first)
    assert second.startswith(f"{broken}: not a scenario file: ")
    assert last == "1 passed, 2 failed"


def test_rules_that_break_down_fail_their_scenario_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.scenario.run", lambda _data: 1 // 0)
    result = croupier("scenario", SCENARIOS / "timos_twist" / "01_sheet_example.json")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stdout
    assert result.stdout.endswith("0 passed, 1 failed\n")


# --- show ------------------------------------------------------------------------------------------------------------


def told(*args: object) -> str:
    result = croupier("show", *args)
    assert result.exit_code == 0
    return result.stdout


def test_a_journal_is_told_from_its_header_to_its_reveal():
    text = told(REFERENCE)
    assert text.startswith("Timo's Twist  timos_twist/1  match " + MATCH)
    assert "Target score: 50" in text
    assert "    1    0:00.001  Änne takes seat 0\n" in text
    assert "    4    0:00.004  Bob play: Blue 3\n                  Bob played: Blue 3\n" in text
    assert "scores: Änne 70, Bob 0\n" in text
    assert "winners: [Änne]\n" in text
    assert f"last hash: {HASH}\n" in text


def test_the_cards_are_titled_in_the_language_asked_for():
    text = told(REFERENCE, "--lang", "de")
    assert "Bob play: Blau 3" in text
    assert "Zielpunkte: 50" in text
    assert "Gewinner: [Änne]" in text


def test_both_languages_have_all_words():
    assert WORDS["de"].keys() == WORDS["en"].keys()


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
@pytest.mark.parametrize("lang", ["de", "en"])
def test_every_game_is_told_to_every_seat_with_a_line_for_every_entry(file, lang):
    lines = journal.split(file.read_bytes())
    for seat in (None, *sorted(Story(lines).seats)):
        story = [line.plain for line in Story(lines, lang=lang, seat=seat, hands=seat is None).tell()]
        versions = [int(line[:5]) for line in story if re.match(r" *\d+ +\d+:\d\d\.\d{3}  ", line)]
        assert versions == list(range(len(lines)))


def test_a_seat_is_told_its_own_cards_and_moves_only():
    """What Bob drew is told to Bob; Änne and the spectators learn how many."""
    drew = re.compile(r"Bob drew: count 1, reason turn(, .*)?$", re.MULTILINE)
    assert all(drew.findall(told(REFERENCE, "--seat", 1)))
    assert not any(drew.findall(told(REFERENCE, "--seat", 0)))
    assert not any(drew.findall(told(REFERENCE)))
    bluff = HISTORIES / "bluffing_billionaires_1.jsonl"
    assert "Bob play: " not in told(bluff, "--seat", 0)
    assert "Bob moves" in told(bluff, "--seat", 0)
    assert "Bob play: Wealth" in told(bluff, "--seat", 1)


def test_one_entry_is_shown_with_the_position_after_it():
    text = told(REFERENCE, "--at", 4)
    assert "    4    0:00.004  Bob play: Blue 3" in text
    assert "    5  " not in text
    assert "top: Blue 3" in text
    assert "hand: " not in text
    text = told(REFERENCE, "--at", 4, "--seat", 1)
    assert text.count("hand: ") == 1
    text = told(REFERENCE, "--at", 4, "--hands")
    assert text.count("hand: ") == 2
    assert "hidden from all" in text


def test_all_hands_follow_each_entry_when_asked_for():
    assert "| Änne: hand [Blue 0, Blue 7, Green 8, " in told(REFERENCE, "--hands")


@pytest.mark.parametrize("lang", ["de", "en"])
@pytest.mark.parametrize("file", [file for file in RECORDED if file.stem.endswith("_1")], ids=lambda file: file.stem)
def test_every_game_is_drawn_as_its_players_see_it(file, lang):
    """With --table and --hands every entry is followed by the table and everybody's cards, in both languages."""
    lines = journal.split(file.read_bytes())
    story = [line.plain for line in Story(lines, lang=lang, table=True, hands=True).tell()]
    assert len([line for line in story if re.match(r" *\d+ +\d+:\d\d\.\d{3}  ", line)]) == len(lines)


def test_a_table_is_told_in_sentences():
    """With --table events are sentences, and a hand is drawn for the seat whose story it is."""
    text = told(REFERENCE, "--table", "--lang", "de", "--at", 4)
    assert "Bob legt Blau 3" in text
    assert "offen  Blau 3    Farbe Blau" in text
    assert "Hand" not in text
    assert "Hand  Blau 0   Blau 7   Grün 8" in told(REFERENCE, "--table", "--lang", "de", "--at", 4, "--seat", 0)


def test_a_journal_that_differs_is_told_up_to_there_and_then_why(tampered):
    result = croupier("show", tampered)
    assert result.exit_code == 1
    assert "    3    0:00.002  the match starts" in result.stdout
    assert "    4  " not in result.stdout
    assert "entry 4 differs (legality): " in result.stdout


def test_a_journal_without_its_end_tells_the_moves_that_it_has(tmp_path):
    path = tmp_path / "running.jsonl"
    path.write_bytes(b"\n".join(LINES[:30]))
    result = croupier("show", path)
    assert result.exit_code == 1
    assert "without the server seed" in result.stdout
    assert "   29    0:00.029  " in result.stdout
    assert "entry 30 differs (tail)" in result.stdout


def test_nothing_in_a_journal_steers_the_terminal(tmp_path):
    path = tmp_path / "evil.jsonl"
    path.write_bytes(REFERENCE.read_bytes().replace(b"blue-3", rb"\u001b[2J\u202e"))
    for command in ("show", "audit"):
        output = croupier(command, path).output
        assert "\x1b" not in output
        assert "\u202e" not in output
    assert printable("a\nb\x1b\u202eÄ") == r"a\u{a}b\u{1b}\u{202e}Ä"


@pytest.mark.parametrize("data", [b"", b"\0", b"{}\n[]", b"\xff", b"[" * 50_000])
def test_garbage_is_shown_as_garbage(tmp_path, data):
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    result = croupier("show", path)
    assert result.exit_code == 1
    assert "entry 0 differs" in result.stdout
