"""Audits of folders, archives and Redis: on all cores, gone on with, reported with every finding classified."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import pytest
import redis

from engine.audit import FIELDS, Audited, Difference, Verdict
from services import audit_page, journal_parts
from services.archive import Archive
from services.audit_report import AUDIT, CLASSES, Report, audit_part, report
from services.impact_report import impact_job
from services.jobs import State, on_processes, run
from services.journal_parts import of_paths
from services.storage import Folder
from tests.services.ended import ended, put, put_lines
from tests.services.rules_versions import GAME, Same, registered
from tests.services.test_cli_journal import HISTORIES, LINES, RECORDED, croupier

MATCHES = [ended(number) for number in range(40)]


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """An archive of all matches, in ten segments."""
    Archive(Folder(tmp_path / "archive")).write(MATCHES)
    return tmp_path / "archive"


def verdicts(parts, workers=1, state=None):
    return [each for _, audited in run(parts, AUDIT, on_processes(workers), state) for each in audited]


# --- what is audited -------------------------------------------------------------------------------------------------


def test_a_folder_an_archive_a_day_of_it_and_redis_are_audited_together(archived, redis_url, monkeypatch):
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    more = [ended(number) for number in range(100, 110)]
    put(redis_url, more)
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, ended(200).match, ended(200).lines[:-1])
    result = croupier("audit", "--json", HISTORIES, archived, "--redis")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["verified"], found["consistent"]) == (len(RECORDED), len(MATCHES) + len(more))
    assert found["entries"] == sum(each["verdict"]["entries"] for each in found["journals"])
    found = json.loads(croupier("audit", "--json", archived / "2023-11-15").stdout)
    assert found["consistent"] == sum(one.at > MATCHES[0].at for one in MATCHES)
    segment = next((archived / "2023-11-15" / "bombenziehen").iterdir())
    found = json.loads(croupier("audit", "--json", segment).stdout)
    assert {each["verdict"]["rules"] for each in found["journals"]} == {"bombenziehen/1"}


def test_an_archive_in_an_object_store_is_audited_by_its_url():
    url = "memory://audited/archive"
    Archive.at(url).write(MATCHES)
    result = croupier("audit", "--quiet", url, "--json", "--workers", "1")
    assert json.loads(result.stdout)["consistent"] == len(MATCHES)
    assert json.loads(croupier("audit", url + "/2023-11-14", "--json", "--workers", "1").stdout)["different"] == 0


def test_more_processes_give_the_same_verdicts_in_the_same_order(archived):
    parts = [*of_paths([archived, HISTORIES]), *of_paths([archived / "2023-11-14"])]
    assert verdicts(parts, 2) == verdicts(parts, 1)


def test_a_journal_in_two_segments_is_judged_once(archived):
    Archive(Folder(archived)).write(MATCHES[:7])
    found = verdicts(of_paths([archived]))
    assert len(found) == len({each.verdict.match for each in found}) == len(MATCHES)


def test_what_is_damaged_in_an_archive_is_found_and_the_rest_is_judged(archived):
    names = [segment.name for segment in Archive(Folder(archived)).segments()]
    good = {name: (archived / name).read_bytes() for name in names[:4]}
    cut, bent, hidden, forged = names[:4]
    (archived / cut).write_bytes(good[cut][: len(good[cut]) // 2])
    data = bytearray(good[bent])
    data[40] ^= 1
    (archived / bent).write_bytes(data)
    first = good[hidden].rindex(MATCHES[0].match[:1].encode(), 0, -4)
    (archived / hidden).write_bytes(good[hidden][:first] + b"!" + good[hidden][first + 1 :])
    table = Archive(Folder(archived)).open_segment(forged)[0]
    lie = good[forged].replace(table[0].head.encode(), b"00" * 32)
    (archived / forged).write_bytes(lie)

    result = croupier("audit", "--json", archived)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    bad = [each for each in found["journals"] if each["finding"]]
    by_segment = {
        name: {each["finding"] for each in bad if each["source"].startswith(str(archived / name))} for name in names
    }
    assert by_segment[cut] == {"unreadable"}
    assert "unreadable" in by_segment[bent]
    assert by_segment[hidden]
    assert by_segment[forged] == {"unreadable", "other_journal"}
    assert not any(by_segment[name] for name in names[4:])
    assert found["consistent"] >= sum(len(Archive(Folder(archived)).open_segment(name)[0]) for name in names[4:])


# --- findings --------------------------------------------------------------------------------------------------------


def test_every_field_that_can_differ_belongs_to_one_class_with_a_title():
    fields = [field for some in CLASSES.values() for field in some]
    assert sorted(fields) == sorted(FIELDS)
    assert audit_page.TITLES.keys() == CLASSES.keys()


FORGED = {
    "tampered_chain": lambda lines: [*lines[:5], *lines[6:]],
    "broken_commitment": lambda lines: _first_changed(lines, b'"commitment":"', b"0"),
    "illegal_move": lambda lines: [*lines[:4], lines[4].replace(b'"blue-3"', b'"pink-9"'), *lines[5:]],
    "digest_drift": lambda lines: _changed(lines, 5, b'"state":"', b"0"),
    "missing_reveal": lambda lines: [*lines[:-1], lines[-1].replace(b'"seed":"', b'"sowed":"')],
    "truncated": lambda lines: lines[:-3],
    "wrong_deal": lambda lines: _changed(lines, 3, b'"state":"', b"0"),
    "invalid_lobby": lambda lines: [*lines[:2], lines[2].replace(b'"seat":1', b'"seat":0'), *lines[3:]],
    "other_journal": list,
    "rules_failed": lambda _: list(BROKEN.lines),
    "unknown_rules_version": lambda lines: [lines[0].replace(b"timos_twist/1", b"timos_twist/9"), *lines[1:]],
    "unreadable": None,
}


class Breaking(Same):
    """The rules of BROKEN, which break down over its first move."""

    def apply(self, state, seat, move, chance):
        raise ZeroDivisionError


with registered():
    BROKEN = ended(GAME, moves=3, rules="timos_twist/3")


def _changed(lines, version, before, digit):
    line = lines[version]
    at = line.index(before) + len(before)
    other = digit if line[at : at + 1] != digit else b"1"
    return [*lines[:version], line[:at] + other + line[at + 1 :], *lines[version + 1 :]]


def _first_changed(lines, before, digit):
    return _changed(lines, 0, before, digit)


@pytest.fixture
def forged(tmp_path: Path) -> Iterator[Path]:
    """A folder with a journal for each class of findings, called after it."""
    folder = tmp_path / "forged"
    folder.mkdir()
    for name, forge in FORGED.items():
        file = folder / f"{name}.jsonl"
        if forge is None:
            file.mkdir()
        else:
            file.write_bytes(b"".join(line + b"\n" for line in forge(list(LINES))))
    (folder / "other_journal.hash").write_text("00" * 32)
    with registered(Breaking()):
        yield folder


def test_findings_are_classified_and_counted(forged, tmp_path):
    result = croupier(
        "audit", "--json", forged, "--workers", "1", "--report", tmp_path / "r.json", "--report", tmp_path / "r.html"
    )
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {Path(each["source"]).stem: each["finding"] for each in found["journals"]} == {n: n for n in FORGED}
    assert found["findings"] == dict.fromkeys(found["findings"], 1)
    assert found["findings"].keys() == FORGED.keys() == CLASSES.keys()
    assert json.loads((tmp_path / "r.json").read_text()) == found
    page = Page((tmp_path / "r.html").read_text())
    for name in FORGED:
        assert audit_page.TITLES[name] in page.text
        assert f"{name}.jsonl" in page.text
    assert f"{len(CLASSES)} of {len(CLASSES)} journals differ" in page.text


class Page(HTMLParser):
    """The text of a page; every element it opens must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.open = "", []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_lets_no_journal_write_into_it_and_says_when_it_leaves_out_some():
    evil = "<script>alert(1)</script>"
    bad = Verdict("different", "m", evil, "", 1, 0, "", Difference(0, "file", evil))
    html = audit_page.page(report([Audited(evil, bad)] * (audit_page.SHOWN + 3)))
    assert evil not in html
    assert "and 3 more" in Page(html).text
    good = audit_page.page(Report(1, 0, 0, {}, 5, report([]).journals))
    assert "no fault" in Page(good).text


def test_a_report_of_another_kind_is_refused_before_anything_is_audited(tmp_path):
    result = croupier("audit", HISTORIES, "--report", tmp_path / "r.pdf")
    assert result.exit_code == 2
    assert "FILE.json or FILE.html" in result.stderr


# --- going on --------------------------------------------------------------------------------------------------------


def test_what_was_cut_off_goes_on_where_it_was(archived, tmp_path):
    parts = list(of_paths([archived, HISTORIES]))
    whole = verdicts(parts)
    with State(tmp_path / "state", AUDIT) as state:
        going = run(parts, AUDIT, on_processes(1), state)
        for _ in range(4):
            next(going)
        going.close()
    with (tmp_path / "state").open("ab") as file:
        file.write(b'{"key":"files torn')
    asked = []
    with State(tmp_path / "state", AUDIT) as state:
        assert len(state.done) == 4
        watched = AUDIT._replace(do=lambda part: asked.append(part.key) or audit_part(part))
        done = run(parts, watched, on_processes(1), state)
        assert [each for _, audited in done for each in audited] == whole
    assert asked == [part.key for part in parts[4:]]
    with State(tmp_path / "state", AUDIT) as state:
        assert len(state.done) == len(parts)
        assert verdicts(parts, 2, state) == whole


def test_what_has_changed_since_is_audited_again(tmp_path):
    file = tmp_path / "one.jsonl"
    shutil.copy(RECORDED[0], file)
    assert croupier("audit", file, "--state", tmp_path / "state").exit_code == 0
    file.write_bytes(file.read_bytes()[:-100])
    assert croupier("audit", file, "--state", tmp_path / "state").exit_code == 1
    shutil.copy(RECORDED[0], file)
    file.with_suffix(".hash").write_text("00" * 32)
    assert croupier("audit", file, "--state", tmp_path / "state").exit_code == 1


def test_verdicts_of_other_rules_or_of_another_file_are_not_taken_over(tmp_path):
    with State(tmp_path / "state", AUDIT) as state:
        state.keep("k", [])
    text = (tmp_path / "state").read_text()
    (tmp_path / "state").write_text(text.replace("timos_twist/1", "timos_twist/0"))
    with State(tmp_path / "state", AUDIT) as state:
        assert state.done == {}
    other = tmp_path / "precious"
    other.write_text("my diary\n")
    result = croupier("audit", HISTORIES, "--state", other)
    assert (result.exit_code, other.read_text()) == (2, "my diary\n")


def test_a_match_that_was_running_is_audited_again(redis_url, tmp_path, monkeypatch):
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    one = ended(0)
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, one.match, one.lines[:-1])
    assert croupier("audit", one.match, "--state", tmp_path / "state").exit_code == 1
    with redis.Redis.from_url(redis_url) as client:
        client.delete(f"croupier:{{{int(one.match[:3])}}}:journal:{one.match}")
        put_lines(client, one.match, one.lines)
    assert croupier("audit", one.match, "--state", tmp_path / "state").exit_code == 0


RULES = json.loads(RECORDED[0].read_bytes().split(b"\n", 1)[0])["rules"]
COMMANDS = [("audit",), ("impact", "--from", RULES, "--to", RULES)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of more journals than a test waits for."""
    folder = tmp_path_factory.mktemp("many")
    first = folder / "00000.jsonl"
    shutil.copy(RECORDED[0], first)
    for number in range(1, 3000):
        os.link(first, folder / f"{number:05}.jsonl")
    return folder


@contextmanager
def working(command, many, state):
    """The command over many journals in a process group of its own, of which some are done."""
    called = [sys.executable, "-m", "services.cli", *command, "-q", str(many), "--state", str(state), "--workers", "2"]
    with subprocess.Popen(called, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not state.exists() or state.stat().st_size < 5000:
            assert process.poll() is None
        yield process


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_ends_it_cleanly_and_says_how_to_go_on(command, many, tmp_path):
    state = tmp_path / "state"
    with working(command, many, state) as process:
        os.killpg(process.pid, signal.SIGINT)
        told = process.stderr.read()
        assert process.wait() == 130
    assert told == f"stopped; --state {state} goes on from here\n"
    with State(state, AUDIT if command == ("audit",) else impact_job(RULES, RULES)) as known:
        assert 0 < len(known.done) < 3000 / journal_parts.PART_FILES


def test_a_process_that_dies_is_said_and_what_is_done_is_kept(many, tmp_path):
    state = tmp_path / "state"
    with working(("audit",), many, state) as process:
        child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[-1]
        os.kill(int(child), signal.SIGKILL)
        told = process.stderr.read()
        assert process.wait() == 2
    assert told.startswith("croupier: one of the processes died")
    with State(state, AUDIT) as known:
        assert known.done


@pytest.mark.parametrize("command", COMMANDS)
def test_progress_on_a_terminal_tells_how_far_it_is(command, archived):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "services.cli", *command, "--json", str(archived), str(HISTORIES)],
        stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "140"},
    )  # fmt: skip
    os.close(theirs)
    told = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            some = os.read(ours, 65536)
        except OSError:
            break
        if not some:
            break
        told += some
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(out)["journals"]
    for word in {"audit": (b"journals", b"differ"), "impact": (b"matches", b"part")}[command[0]]:
        assert word in told
    assert b"left" in told
    assert b"%" in told


# --- a cluster -------------------------------------------------------------------------------------------------------


def test_a_job_on_ray_gives_the_same_verdicts(archived):
    pytest.importorskip("ray", reason="Ray is an optional extra that is not installed: pip install '.[ray]'")
    command = [sys.executable, "-m", "services.cli", "audit", "--json", f"file://{archived}"]
    alone = subprocess.run([*command, "--workers", "1"], capture_output=True, check=True)
    on_ray = subprocess.run([*command, "--ray", "local"], capture_output=True, check=True)
    assert json.loads(on_ray.stdout) == json.loads(alone.stdout)


def test_without_ray_its_option_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    result = croupier("audit", HISTORIES, "--ray", "auto")
    assert result.exit_code == 2
    assert "croupier-server[ray]" in result.stderr
