"""The page on which a player drops a journal, in headless Chromium."""

import base64
import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from engine import journal, registry
from engine.audit import FIELDS, audit
from tests.engine.tampered import ANCHOR, LINES, TAMPERS, chained
from tests.verify.damaged import GAMES, forged_journals
from tests.verify.javascript import VERIFIER

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no `chromium` on this machine; CI installs it")

HISTORIES = sorted((Path(__file__).parents[1] / "histories").glob("*.jsonl"))
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=60000"),
)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))

DRIVE = """
const drops = DROPS;
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
(async () => {
  const seen = [];
  for (const { files, fields = {}, lang = "en" } of drops) {
    for (const name of ["hash", "signature", "key"]) $(name).value = fields[name] || "";
    document.querySelector(`[data-lang=${lang}]`).click();
    const carried = new DataTransfer();
    for (const [name, data] of files) carried.items.add(new File([bytes(data)], name));
    $("verdict").dataset.outcome = "";
    $("problem").textContent = "";
    dispatchEvent(new DragEvent("drop", { dataTransfer: carried }));
    while (!$("verdict").dataset.outcome && !$("problem").textContent) await new Promise((done) => setTimeout(done, 5));
    const { outcome, field, version } = $("verdict").dataset;
    const hands = [...document.querySelectorAll("[data-seat]")].map((seat) =>
      [...seat.querySelectorAll("[data-code]")].map((card) => [card.dataset.code,
        card.querySelector("span").textContent]));
    const marks = [...document.querySelectorAll("#checks li")].map((li) => li.firstChild.className);
    seen.push({ outcome, field, version, hands, heading: $("verdict").textContent, problem: $("problem").textContent,
      page: $("found").textContent, marks });
  }
  document.body.append(make("pre", JSON.stringify(seen), { id: "seen" }));
})();
"""


def dropped(folder: Path, drops: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """What the page shows after each drop: real drop events, one after the other."""
    return run(folder, DRIVE.replace("DROPS", json.dumps(drops)))


def run(folder: Path, script: str) -> list:
    """What a script leaves in the element `seen` of an unchanged copy of the page."""
    for name in ("verify.js", "verify.html"):
        shutil.copy(VERIFIER.with_name(name), folder)
    page = folder / "verify.html"
    page.write_text(page.read_text("utf-8").replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        check=False,
        timeout=200,
    )
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    assert found, done.stderr.decode()[-2000:]
    return json.loads(html.unescape(found[1]))


def drop(lines: Sequence[bytes], lang: str = "en", **fields: str) -> dict[str, object]:
    data = b"".join(line + b"\n" for line in lines)
    return {"files": [["x.jsonl", base64.b64encode(data).decode()]], "fields": fields, "lang": lang}


def test_recorded_journals_are_verified_and_their_deals_laid_out_with_names(tmp_path):
    drops, lines_of = [], {}
    for file in HISTORIES:
        lines_of[file] = journal.split(file.read_bytes())
        beside = base64.b64encode(file.with_suffix(".hash").read_bytes()).decode()
        one = drop(lines_of[file], "de")
        drops.append({**one, "files": [*one["files"], ["x.hash", beside]]})
    for file, seen in zip(HISTORIES, dropped(tmp_path, drops), strict=True):
        first = json.loads(lines_of[file][0])
        titles = {card.code: card.de for card in registry.find(first["rules"]).cards}
        assert (seen["outcome"], seen["field"], seen["problem"]) == ("verified", "", "")
        assert set(seen["marks"]) == {"yes"}
        assert seen["heading"].startswith("Bestätigt")
        players = next(json.loads(line)["seats"] for line in lines_of[file] if b'"started"' in line)
        assert len(seen["hands"]) == len(players)
        assert all(hand for hand in seen["hands"])
        assert all(name == titles[code] for hand in seen["hands"] for code, name in hand)


@pytest.mark.parametrize("game", ["reference", *GAMES])
def test_tampered_journals_are_named_as_by_the_audit(tmp_path, game):
    """Whatever may be done to one journal, and on a journal of each game what may be done to all."""
    forged = [change(tamper(LINES)) for tamper, _, _ in TAMPERS.values() for change in (list, chained)]
    if game != "reference":
        forged = [lines for lines, _ in forged_journals(game)]
    for lines, seen in zip(forged, dropped(tmp_path, [drop(lines) for lines in forged]), strict=True):
        verdict = audit(lines)
        expected = verdict.difference and (str(verdict.difference.version), verdict.difference.field)
        assert seen["outcome"] == verdict.outcome
        assert (seen["version"], seen["field"]) == (expected or ("", ""))
        assert "no" not in seen["marks"] or expected


def test_anchors_in_the_fields_are_used_and_a_bad_one_is_told(tmp_path):
    signature, public = KEY.sign(ANCHOR).hex(), KEY.public_key().public_bytes_raw().hex()
    drops = [
        drop(LINES),
        drop(LINES, signature=signature, key=public),
        drop(LINES, signature=signature),
        drop(LINES, signature=KEY.sign(bytes(32)).hex(), key=public),
        drop(LINES, hash="00" * 32),
        drop(LINES, hash="00"),
    ]
    seen = dropped(tmp_path, drops)
    assert [(one["outcome"], one["field"]) for one in seen[:5]] == [
        ("consistent", ""),
        ("verified", ""),
        ("consistent", ""),
        ("different", "signature"),
        ("different", "last hash"),
    ]
    assert seen[5]["problem"] == "a last hash is 64 hex digits"


def test_nothing_in_a_journal_is_read_as_html(tmp_path):
    """A name with a tag in it is shown as it stands."""
    name = b"<img src=x onerror=document.title=1>"[:32]
    lines = [line.replace(b'"Bob"', b'"%b"' % name) for line in LINES]
    [seen] = dropped(tmp_path, [drop(chained(lines))])
    assert seen["outcome"] == "consistent"
    assert name.decode() in seen["page"]


def test_every_card_has_the_name_of_the_catalogue_in_both_languages(tmp_path):
    page = VERIFIER.with_name("verify.html").read_text("utf-8")
    assert set(FIELDS) - {"file"} <= set(re.findall(r'\b([a-z]+(?: [a-z]+)?)"?: \["', page))
    games = [game for game in registry.games() if f"{game.name}(code)" in page or f"{game.name}: (code)" in page]
    assert len(games) == 5
    wanted = [[game.name, card.code, card.en, card.de] for game in games for card in game.cards]
    script = f"""
      const wrong = {json.dumps(wanted)}.filter(([game, code, en, de]) => {{
        const [, english, german] = FACES[game](code);
        return english !== en || german !== de;
      }});
      document.body.append(make("pre", JSON.stringify(wrong), {{ id: "seen" }}));
    """
    assert run(tmp_path, script) == []
