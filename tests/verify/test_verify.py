"""The JavaScript verifier and the audit, which share no code, say the same of every journal, sound or not."""

import itertools
import json
import re
import subprocess
import sys

import msgspec
import pytest
from msgspec import UNSET

from engine import codes, registry
from engine.audit import FIELDS, audit
from engine.chance import Stream, bot_key, code_key, commitment, match_key
from engine.game import encode
from engine.journal import Created, SeatPlan
from engine.match import Match
from tests.engine.hard import computers, let_computers_move
from tests.engine.tampered import ANCHOR, LINES, SEED, TAMPERS, chained
from tests.histories.record import Table, other_options
from tests.verify.damaged import GAMES, forged_journals, shortest
from tests.verify.javascript import FOLDER, NODE, VERIFIER, ask, needs_node, verdicts

BUILT_IN = [game for game in registry.games() if game.name != "tiny_game"]
VECTORS = json.loads((VERIFIER.parent / "vectors.json").read_text())


@needs_node
def test_it_passes_its_own_tests_in_node():
    done = subprocess.run([NODE, "--test", FOLDER / "verify.test.js"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode()[-4000:]


def test_the_published_vectors_are_what_the_engine_draws():
    seed = bytes.fromhex(VECTORS["server_seed"])
    clients = [bytes.fromhex(client) for client in VECTORS["client_seeds"]]
    rules = VECTORS["rules"]
    key = match_key(seed, VECTORS["match"], rules, clients)
    words = Stream(key, "game", 0)
    shuffled = VECTORS["game_shuffle_of_0_to_53_at_version_0"]
    assert commitment(seed, VECTORS["match"], rules).hex() == VECTORS["commitment"]
    assert key.hex() == VECTORS["key"]
    assert [f"{words.u64():016x}" for _ in range(5)] == VECTORS["game_words_of_version_0"]
    assert list(Stream(key, "game", 0).shuffle(range(54))) == shuffled
    assert [Stream(key, "game", version).pick(6) for version in range(12)] == VECTORS["game_pick_6_of_versions_0_to_11"]
    assert code_key(bytes.fromhex(VECTORS["code_seed"]), rules).hex() == VECTORS["code_key"]
    bot = [Stream(bot_key(key), "bot/1", 7).pick(k) for k in (2, 10, 100)]
    assert bot == VECTORS["bot_1_at_version_7_picks_of_2_10_100"]


def test_it_asks_for_no_other_file_and_no_network():
    """One file: what it requires is Node's own `fs`, for the command line."""
    text = VERIFIER.read_text()
    assert text.count("require(") - text.count("const { verify } = require(") == 1
    for word in ("fetch(", "XMLHttpRequest", "import(", "WebSocket", "http://", "https://"):
        assert word not in text


def test_the_few_lines_of_the_documentation_tell_a_kept_promise_from_a_broken_one(tmp_path):
    [code] = re.findall(r"```python\n(.*?)```", (VERIFIER.parents[1] / "docs" / "fairness.md").read_text(), re.DOTALL)
    for lines, said in ((LINES, "kept"), (TAMPERS["a foreign seed"][0](LINES), "broken")):
        (tmp_path / "MATCH.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == said + "\n"


# --- sound journals --------------------------------------------------------------------------------------------------


def table(game: registry.AnyGame, seats: int, number: int) -> Table:
    """A random match to its end, some with all options turned and with timeouts."""
    options = other_options(game, seats) if number % 2 else None
    played = Table(game, seats, options, label=f"verify {seats} {number}", max_entries=1500)
    played.fill()
    played.play(timeouts=5 if number % 3 == 2 else 0)
    return played


@needs_node
@pytest.mark.parametrize("game", BUILT_IN, ids=lambda game: game.rules)
def test_random_matches_of_all_seats_and_options_are_consistent_to_the_last_digest(game):
    played = [table(game, seats, number) for seats in game.seats for number in range(2 + (seats == 2))]
    for each, verdict in zip(played, verdicts([each.data for each in played]), strict=True):
        assert verdict["difference"] is None
        assert verdict["outcome"] == "consistent"
        assert verdict["head"] == each.match.head.hex()
        assert verdict["key"] == each.match._key.hex()
        assert verdict["moves"] == sum(b'"kind":"moved"' in line for line in each.data)


def from_code(rules: str, kinds: tuple[str, ...], options: dict[str, object]) -> Match:
    """A match dealt from a game code between computers, with the lines it has come to."""
    game = registry.find(rules)
    policy = int(set(kinds) != {"open"})
    settled = json.loads(encode(game.options(options, len(kinds))))
    code = codes.encode(codes.Dealt(rules, kinds, settled, b"seed!", policy))
    match = Match(SEED)
    match.lines = []
    match.appended = lambda line: match.lines.append(line.data)
    plans = tuple(SeatPlan(kind, *(() if kind == "open" else (0, policy))) for kind in kinds)
    match.create(Created("m", rules, settled, plans, False, commitment(SEED, "m", rules).hex(), "", UNSET, code), 5)
    for number in range(kinds.count("open")):
        match.join(f"human {number}", b"ignored", f"request {number}", 6)
    return match


@needs_node
@pytest.mark.parametrize("game", BUILT_IN, ids=lambda game: game.rules)
def test_a_match_from_a_game_code_is_dealt_from_the_code(game):
    """Client seeds do not enter; computers' moves are folded, though nobody thinks for them."""
    seats = game.seats[-1]
    matches = [
        from_code(game.rules, ("open", "ruthless"), {}),
        from_code(game.rules, ("open",) * seats, other_options(game, seats)),
    ]
    for match in matches:
        match.abort("operator", 9)
    for match, verdict in zip(matches, verdicts([match.lines for match in matches]), strict=True):
        assert verdict["difference"] is None
        assert verdict["key"] == code_key(b"seed!", game.rules).hex() == match._key.hex()


@needs_node
def test_a_match_between_computers_is_consistent():
    match = from_code("bluffing_billionaires/1", ("reckless", "clever"), {})
    let_computers_move(match)
    [verdict] = verdicts([match.lines])
    assert match.status == "finished"
    assert verdict["outcome"] == "consistent"
    assert verdict["computerMoves"] == verdict["moves"] > 0


@needs_node
@pytest.mark.parametrize(("kinds", "absent"), [(("hard", "easy"), None), (("open", "open"), "hard")])
def test_the_clock_moves_for_no_seat_that_a_computer_decides_for(kinds, absent):
    match = computers(*kinds, absent=absent)
    for number in range(kinds.count("open")):
        match.join(f"human {number}", b"", f"request {number}", 6)
    [seat] = match.to_act
    if absent:
        match.leave(seat, match.seats[seat].tenure, 7)
    match._moved(seat, match.game.default(match.state, match.plays_as(seat)), 8, "clock")
    match.abort("operator", 9)
    [verdict] = verdicts([match.lines])
    assert verdict["difference"]["field"] == "by"
    assert verdict["difference"]["version"] == match.version - 1


@needs_node
def test_a_code_that_says_another_match_is_named():
    match = from_code("clever_gedreht/1", ("open", "open"), {"rounds": 5})
    match.abort("operator", 9)
    code = match.created.code.encode()
    other = from_code("clever_gedreht/1", ("open", "open"), {"rounds": 6}).created.code.encode()
    mistyped = code[:-1] + (b"0" if code[-1:] != b"0" else b"1")
    letters = code.decode().replace("-", "")[:-1] + "0"
    padded = f"{letters}{codes._check(letters)}"
    padded = "-".join([padded[:3], *(padded[i : i + 4] for i in range(3, len(padded), 4))]).encode()
    wrongs = (other, mistyped, padded, code.lower(), code.replace(b"-", b""), b"", b"-", b"U" * 12, code + b"-")
    forged = [[line.replace(code, wrong) for line in match.lines] for wrong in wrongs]
    assert [verdict["difference"]["field"] for verdict in verdicts(forged)] == ["code"] * len(wrongs)
    assert [audit(lines).difference.field for lines in forged] == ["code"] * len(wrongs)


# --- tampered journals -----------------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("rechain", [list, chained], ids=["as it is", "chain recomputed"])
def test_what_was_changed_is_named_as_by_the_audit(rechain):
    forged = {name: rechain(tamper(LINES)) for name, (tamper, _, _) in TAMPERS.items()}
    found = dict(zip(forged, verdicts(list(forged.values())), strict=True))
    expected = {name: audit(lines).difference for name, lines in forged.items()}
    said = {name: verdict["difference"] for name, verdict in found.items()}
    assert {name: each and (each["version"], each["field"]) for name, each in said.items()} == {
        name: each and (each.version, each.field) for name, each in expected.items()
    }


@needs_node
@pytest.mark.parametrize("rechain", [list, chained], ids=["as it is", "chain recomputed"])
def test_with_the_last_hash_nothing_that_was_changed_verifies(rechain):
    forged = [rechain(tamper(LINES)) for name, (tamper, _, _) in TAMPERS.items() if name != "a hash of the chain"]
    assert {verdict["outcome"] for verdict in verdicts(forged, hash=ANCHOR.hex())} == {"different"}


@needs_node
@pytest.mark.parametrize("game", GAMES)
def test_forged_journals_of_every_game_are_named_as_by_the_audit(game):
    anchor = bytes.fromhex(shortest(game).with_suffix(".hash").read_text())
    forged = forged_journals(game)
    for anchored, given in ((None, {}), (anchor, {"hash": anchor.hex()})):
        for (lines, field), verdict in zip(forged, verdicts([lines for lines, _ in forged], **given), strict=True):
            expected = audit(lines, anchored)
            named, said = verdict["difference"], expected.difference
            assert verdict["outcome"] == expected.outcome
            assert (named and (named["version"], named["field"])) == (said and (said.version, said.field))
            assert field in (None, said and said.field)
            assert said or not anchored


@needs_node
def test_no_changed_byte_verifies_and_all_are_named_as_by_the_audit():
    """100 journals with one byte changed, drawn from a fixed stream."""
    chance, forged = Stream(SEED, "tampering", 1), []
    for _ in range(100):
        version = chance.pick(len(LINES))
        data = bytearray(LINES[version])
        data[chance.pick(len(data))] ^= 1 << chance.pick(8)
        forged.append([*LINES[:version], bytes(data), *LINES[version + 1 :]])
    for lines, verdict in zip(forged, verdicts(forged, hash=ANCHOR.hex()), strict=True):
        expected = audit(lines, ANCHOR).difference
        assert verdict["outcome"] == "different"
        assert verdict["difference"]["field"] in FIELDS
        assert verdict["difference"]["version"] == expected.version


@needs_node
@pytest.mark.parametrize("game", BUILT_IN, ids=lambda game: game.rules)
def test_another_client_seed_deals_other_cards_in_every_game(game):
    """With the chain recomputed; where the deal is one pick only, another seed may pick the same."""
    played = Table(game, game.seats[-1], label="seeds")
    played.fill()
    played.add(played.match.abort("operator", played.at))
    data, forged = played.data, []
    joins = [number for number, line in enumerate(data) if b'"joined"' in line]
    for join in joins:
        seed = json.loads(data[join])["client_seed"].encode()
        for last in range(10):
            lines = list(data)
            lines[join] = lines[join].replace(b'"%b"' % seed, b'"%b%02d"' % (seed[:-2], last))
            forged.append(chained(lines))
    said = [verdict["difference"] for verdict in verdicts(forged)]
    expected = [msgspec.to_builtins(audit(lines).difference) for lines in forged]
    assert said == expected
    assert {each["field"] for each in said if each} == {"deal"}


# --- legality --------------------------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("game", BUILT_IN, ids=lambda game: game.rules)
def test_a_move_is_legal_to_one_exactly_if_it_is_to_the_other(game):
    """At every version of random matches, for every seat, each move that was legal anywhere in them."""
    for number, seats in itertools.product(range(2), (game.seats[0], min(game.seats[-1], 4))):
        played = Table(game, seats, other_options(game, seats) if number else None, label=f"legal {number}")
        played.fill()
        played.play(played.match.version + 100)
        folded, legal = Match(played.seed), []
        for data in played.data:
            folded.replay(data, verify=False)
            legal.append([set(map(game.move_json.encode, folded.legal(seat))) for seat in range(seats)])
        everywhere = sorted(set().union(*(moves for version in legal for moves in version)))
        chance = Stream(played.seed, "moves", 0)
        some = chance.shuffle(everywhere)[:250]
        moves = [(seat, *next(iter(msgspec.json.decode(move).items()))) for seat in range(seats) for move in some]
        lines = [data.decode() for data in played.data]
        [said] = ask([{"lines": lines, "seed": played.seed.hex(), "moves": moves}])
        expected = [[move in version[seat] for seat in range(seats) for move in some] for version in legal]
        assert said == expected
        assert any(map(any, expected))
