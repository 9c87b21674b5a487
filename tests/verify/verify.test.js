// node --test tests/verify/verify.test.js: the verifier against vectors and recorded journals. pytest runs it, too.
"use strict";
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const { execFileSync, spawnSync } = require("node:child_process");

const FOLDER = path.join(__dirname, "../../verify");
const HISTORIES = path.join(__dirname, "../histories");
const PROGRAM = path.join(FOLDER, "verify.js");
const V = require(PROGRAM);
const vectors = require(path.join(FOLDER, "vectors.json"));
const recorded = fs.readdirSync(HISTORIES).filter((name) => name.endsWith(".jsonl"));
const journalOf = (name) => fs.readFileSync(path.join(HISTORIES, name));
const hashOf = (name) => fs.readFileSync(path.join(HISTORIES, name.replace(".jsonl", ".hash")), "ascii").trim();
const REFERENCE = "timos_twist_reference.jsonl";
const bytes = (length) => Uint8Array.from({ length }, (_, i) => (i * 7) & 255);

test("hashes are those of Node's own library, at every length around a block", () => {
  for (const length of [0, 1, 3, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 255, 256, 257, 1000]) {
    const message = bytes(length);
    assert.equal(V.toHex(V.sha256(message)), digest("sha256", message));
    assert.equal(V.toHex(V.sha512(message)), digest("sha512", message));
    const keyed = crypto.createHmac("sha256", bytes(length)).update(message).digest("hex");
    assert.equal(V.toHex(V.hmacSha256(bytes(length), message)), keyed);
  }
});

function digest(name, message) {
  return crypto.createHash(name).update(message).digest("hex");
}

test("BLAKE2b-256 is the known one", () => {
  const known = {
    "": "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8",
    abc: "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
  };
  for (const [text, expected] of Object.entries(known)) {
    assert.equal(V.toHex(V.blake2b256(new TextEncoder().encode(text))), expected);
  }
});

test("Ed25519 accepts the signatures of RFC 8032 and of Node, and no other", () => {
  const key = V.fromHex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const signature = V.fromHex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  );
  assert.ok(V.ed25519(key, V.fromHex("72"), signature));
  assert.ok(!V.ed25519(key, V.fromHex("73"), signature));
  for (let i = 0; i < 4; i++) {
    const pair = crypto.generateKeyPairSync("ed25519");
    const raw = pair.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
    const signed = crypto.sign(null, bytes(32), pair.privateKey);
    assert.ok(V.ed25519(raw, bytes(32), signed));
    const flipped = Uint8Array.from(signed);
    flipped[i * 20] ^= 1;
    assert.ok(!V.ed25519(raw, bytes(32), flipped));
  }
});

test("a signature with a scalar out of range is none", () => {
  const pair = crypto.generateKeyPairSync("ed25519");
  const raw = pair.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const signed = crypto.sign(null, bytes(32), pair.privateKey);
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const scalar = BigInt("0x" + Buffer.from(signed.subarray(32)).reverse().toString("hex")) + order;
  const high = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
  assert.ok(!V.ed25519(raw, bytes(32), Buffer.concat([signed.subarray(0, 32), high])));
});

test("chance is that of the vectors", () => {
  const seed = V.fromHex(vectors.server_seed);
  const clients = vectors.client_seeds.map(V.fromHex);
  const { match, rules } = vectors;
  assert.equal(V.toHex(V.commitment(seed, match, rules)), vectors.commitment);
  const key = V.matchKey(seed, match, rules, clients);
  assert.equal(V.toHex(key), vectors.key);
  const words = new V.Stream(key, "game", 0);
  assert.deepEqual(
    vectors.game_words_of_version_0.map(() => words.u64().toString(16).padStart(16, "0")),
    vectors.game_words_of_version_0,
  );
  assert.deepEqual(
    vectors.game_pick_6_of_versions_0_to_11.map((_, version) => new V.Stream(key, "game", version).pick(6)),
    vectors.game_pick_6_of_versions_0_to_11,
  );
  const deck = vectors.game_shuffle_of_0_to_53_at_version_0;
  assert.deepEqual(new V.Stream(key, "game", 0).shuffle(deck.map((_, i) => i)), deck);
  assert.equal(V.toHex(V.codeKey(V.fromHex(vectors.code_seed), rules)), vectors.code_key);
  assert.deepEqual(
    [2, 10, 100].map((k) => new V.Stream(V.botKey(key), "bot/1", 7).pick(k)),
    vectors.bot_1_at_version_7_picks_of_2_10_100,
  );
});

test("a word from the uneven rest is thrown away", () => {
  const k = 2 ** 52 + 1;
  const stream = new V.Stream(bytes(32), "game", 0);
  const limit = 2n ** 64n - (2n ** 64n % BigInt(k));
  const words = [2n ** 64n - 1n, limit, limit - 1n];
  stream.u64 = () => words.shift();
  assert.equal(stream.pick(k), k - 1);
});

for (const name of recorded) {
  test(`${name} verifies with its last hash and is consistent without`, () => {
    const verdict = V.verify(journalOf(name), { hash: hashOf(name) });
    assert.equal(verdict.difference, null);
    assert.equal(verdict.outcome, "verified");
    assert.equal(V.verify(journalOf(name)).outcome, "consistent");
    assert.equal(V.verify(journalOf(name), { hash: "00".repeat(32) }).difference.field, "last hash");
    assert.ok(verdict.deals.length && verdict.draws.length);
  });
}

test("the operator's signature verifies a journal, and another's does not", () => {
  const pair = crypto.generateKeyPairSync("ed25519");
  const other = crypto.generateKeyPairSync("ed25519");
  const raw = (one) => one.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
  const sign = (one, hash) => crypto.sign(null, Buffer.from(hash, "hex"), one.privateKey).toString("hex");
  const journal = journalOf(REFERENCE);
  const signature = sign(pair, hashOf(REFERENCE));
  assert.equal(V.verify(journal, { signature, key: raw(pair) }).outcome, "verified");
  assert.equal(V.verify(journal, { signature }).outcome, "consistent");
  assert.equal(V.verify(journal, { key: raw(pair) }).outcome, "consistent");
  assert.equal(V.verify(journal, { signature, key: raw(other) }).difference.field, "signature");
  const stale = sign(pair, "00".repeat(32));
  assert.equal(V.verify(journal, { signature: stale, key: raw(pair) }).difference.field, "signature");
  assert.throws(() => V.verify(journal, { signature: "00", key: raw(pair) }), RangeError);
});

test("the deal is told: hands, what was turned, and the pile, every card once", () => {
  const { deals, draws } = V.verify(journalOf(REFERENCE));
  assert.equal(deals.length, 3);
  for (const deal of deals) {
    const all = [...deal.hands.flatMap((hand) => hand.cards), ...deal.turned, ...deal.pile];
    assert.equal(new Set(all).size, 54);
    assert.equal(all.length, 54);
  }
  assert.deepEqual(draws.map((draw) => draw.call), ["pick", "shuffle", "shuffle", "shuffle"]);
});

/** The lines with every `prev` recomputed, as somebody does who can write the whole file. */
function chained(lines) {
  let head = "0".repeat(64);
  return lines.map((line) => {
    const done = line.replace(/"prev":"[^"]*"/, `"prev":"${head}"`);
    head = digest("sha256", Buffer.concat([Buffer.from(head, "hex"), Buffer.from(done)]));
    return done;
  });
}

// What is changed in which entry to what; where it shows as it is, and behind a recomputed chain.
const TAMPERS = {
  "a hash of the chain": [4, '"prev":"29', '"prev":"2a', "4 chain", "undefined"],
  "the commitment": [0, '"a78f', '"a78e', "0 commitment", "0 commitment"],
  "the revealed seed": [169, '"0001', '"0002', "0 commitment", "0 commitment"],
  "no reveal": [169, /,"seed":"[^"]*"/, "", "169 reveal", "169 reveal"],
  "the digest of the deal": [3, '"state":"22', '"state":"23', "3 deal", "3 deal"],
  "a client seed": [2, '"626f62"', '"626f63"', "3 chain", "3 deal"],
  "another legal move": [4, "blue-3", 'plus4","color":"blue', "4 digest", "4 digest"],
  "an illegal move": [4, "blue-3", "pink-9", "4 legality", "4 legality"],
  "the result": [169, "[70,0]", "[71,0]", "169 result", "169 result"],
};

for (const [name, [version, old, changed, ...expected]] of Object.entries(TAMPERS)) {
  test(`tampered: ${name}`, () => {
    const lines = journalOf(REFERENCE).toString().trimEnd().split("\n");
    assert.notEqual(lines[version], lines[version].replace(old, changed));
    lines[version] = lines[version].replace(old, changed);
    const found = [lines, chained(lines)].map((each) => V.verify(each.join("\n")).difference);
    assert.deepEqual(found.map((one) => (one ? `${one.version} ${one.field}` : "undefined")), expected);
  });
}

test("the command line says what it found, and its exit code too", () => {
  const file = path.join(HISTORIES, REFERENCE);
  const said = execFileSync("node", [PROGRAM, "--deal", file], { encoding: "utf8" });
  assert.match(said, /^verified .*3 deals, 3 shuffles and 1 picks/);
  assert.match(said, /round 1, dealt at entry 3/);
  const folder = fs.mkdtempSync(path.join(require("node:os").tmpdir(), "verify-"));
  try {
    const copy = path.join(folder, "x.jsonl");
    fs.writeFileSync(copy, journalOf(REFERENCE).toString().replace("blue-3", "pink-9"));
    const run = spawnSync("node", [PROGRAM, copy, file], { encoding: "utf8" });
    assert.equal(run.status, 1);
    assert.match(run.stdout, /^different .*\n +entry 4, legality: .*\nverified /);
    const whole = spawnSync("node", [PROGRAM, folder], { encoding: "utf8" });
    assert.equal(whole.stdout, run.stdout.slice(0, run.stdout.indexOf("verified")), "a folder is the journals in it");
    fs.writeFileSync(path.join(folder, "x.sig"), "no signature");
    const json = spawnSync("node", [PROGRAM, "--json", copy], { encoding: "utf8" });
    assert.equal(JSON.parse(json.stdout)[0].difference.field, "file");
    assert.equal(spawnSync("node", [PROGRAM, path.join(folder, "missing")]).status, 1);
    fs.mkdirSync(path.join(folder, "empty"));
    for (const args of [[], [path.join(folder, "empty")], ["--key", "12", copy], ["--unknown", copy]]) {
      assert.equal(spawnSync("node", [PROGRAM, ...args]).status, 2);
    }
    assert.equal(spawnSync("node", [PROGRAM, "--help"]).status, 0);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
