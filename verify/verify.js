/* Checks the journal of a match that Croupier dealt, with no code of the server's and no network.

   From nothing but the journal it computes again: the hash chain, the commitment, the key that server and players made
   together, every shuffle and every pick, the deal of every round, what every move did, the digest of the state after
   every entry, prompts, the clock's moves, and the result. It does not think for computer players: whether a move by
   `bot` is the one that this player makes there, `croupier audit` says. docs/fairness.md explains all of it.

   To check what it says of one game, read the game's section beside its rules of record: a clause's number stands where
   it is applied. The sections, in this order: bytes; hashes; Ed25519; CROUPIER-RNG-1; what the games have in common;
   Timo's Twist, Bombenziehen, Bluffing Billionaires, Clever gedreht, Tom's Time Bluff; faults, options and game codes;
   lines; the match, entry by entry; the verdict; the command line.

   In Node:     node verify.js FILE...            (node verify.js --help)
                const { verify } = require("./verify.js")
   In browsers: <script src="verify.js"></script>, then CroupierVerify.verify(bytes)
*/
(function (root, factory) {
  "use strict";
  const api = factory();
  if (typeof module === "object" && module.exports) {
    module.exports = api;
    if (require.main === module) process.exitCode = api.main(process.argv.slice(2), require("node:fs"));
  } else {
    root.CroupierVerify = api;
  }
})(typeof self !== "undefined" ? self : this, function () {
  "use strict";

  // --- bytes ---------------------------------------------------------------------------------------------------------

  const utf8 = new TextEncoder();
  const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  function joined(...parts) {
    const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  function toHex(bytes) {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** The bytes behind hex digits, either case; null if they are none. */
  function fromHex(text) {
    if (typeof text !== "string" || !/^([0-9a-f]{2})*$/i.test(text)) return null;
    return Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
  }

  function bigEndian(number, size) {
    const bytes = new Uint8Array(size);
    for (let rest = BigInt(number), i = size - 1; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 255n);
    return bytes;
  }

  function bigNumber(bytes) {
    return BigInt("0x" + (toHex(bytes) || "0"));
  }

  // --- hashes: SHA-256, HMAC, BLAKE2b-256, SHA-512 -------------------------------------------------------------------

  /** The first `count` primes: the constants of the hashes are the fractional parts of their roots. */
  function primes(count) {
    const found = [];
    for (let n = 2; found.length < count; n++) if (found.every((p) => n % p)) found.push(n);
    return found;
  }

  /** 64 bits of the fractional part of the square root (2) or cube root (3) of a number. */
  function rootBits(number, degree) {
    const power = BigInt(number) << BigInt(64 * degree);
    let low = 0n;
    for (let bit = 1n << 72n; bit; bit >>= 1n) if ((low + bit) ** BigInt(degree) <= power) low += bit;
    return BigInt.asUintN(64, low);
  }

  const SQUARE_ROOTS = primes(8).map((p) => rootBits(p, 2));
  const CUBE_ROOTS = primes(80).map((p) => rootBits(p, 3));
  const K256 = Uint32Array.from(CUBE_ROOTS.slice(0, 64), (bits) => Number(bits >> 32n));
  const IV256 = Uint32Array.from(SQUARE_ROOTS, (bits) => Number(bits >> 32n));

  /** A message with the padding of SHA-2, for blocks of so many bytes. */
  function padded(message, block) {
    const tail = block / 8;
    const size = Math.ceil((message.length + 1 + tail) / block) * block;
    const bytes = new Uint8Array(size);
    bytes.set(message);
    bytes[message.length] = 0x80;
    bytes.set(bigEndian(message.length * 8, 8), size - 8);
    return bytes;
  }

  function sha256(message) {
    const bytes = padded(message, 64);
    const view = new DataView(bytes.buffer);
    const h = Uint32Array.from(IV256);
    const w = new Uint32Array(64);
    const turn = (x, n) => (x >>> n) | (x << (32 - n));
    for (let at = 0; at < bytes.length; at += 64) {
      for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
      for (let i = 16; i < 64; i++) {
        const s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
        const s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
      }
      let [a, b, c, d, e, f, g, last] = h;
      for (let i = 0; i < 64; i++) {
        const t1 = (last + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K256[i] + w[i]) | 0;
        const t2 = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [last, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
      }
      [a, b, c, d, e, f, g, last].forEach((word, i) => (h[i] += word));
    }
    const digest = new Uint8Array(32);
    h.forEach((word, i) => new DataView(digest.buffer).setUint32(4 * i, word));
    return digest;
  }

  function hmacSha256(key, message) {
    const block = new Uint8Array(64);
    block.set(key.length > 64 ? sha256(key) : key);
    const inner = sha256(joined(block.map((byte) => byte ^ 0x36), message));
    return sha256(joined(block.map((byte) => byte ^ 0x5c), inner));
  }

  const SIGMA = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
  ];
  /** Words of 64 bits are kept as two of 32, the low one first. */
  const BLAKE_IV = Uint32Array.from(
    SQUARE_ROOTS.flatMap((bits) => [Number(bits & 0xffffffffn), Number(bits >> 32n)]),
  );

  function blake2b256(message) {
    const h = Uint32Array.from(BLAKE_IV);
    h[0] ^= 0x01010000 ^ 32; // 32 bytes of digest, no key
    const v = new Uint32Array(32);
    const m = new Uint32Array(32);
    const add = (a, low, high) => {
      const sum = v[a] + low;
      v[a] = sum;
      v[a + 1] += high + (sum > 0xffffffff ? 1 : 0);
    };
    /** v[d] = (v[d] xor v[a]) turned right by so many bits. */
    const mix = (d, a, bits) => {
      let low = v[d] ^ v[a];
      let high = v[d + 1] ^ v[a + 1];
      if (bits >= 32) [low, high] = [high, low];
      const n = bits % 32;
      v[d] = n ? (low >>> n) | (high << (32 - n)) : low;
      v[d + 1] = n ? (high >>> n) | (low << (32 - n)) : high;
    };
    const round = (a, b, c, d, x, y) => {
      add(a, v[b], v[b + 1]);
      add(a, m[x], m[x + 1]);
      mix(d, a, 32);
      add(c, v[d], v[d + 1]);
      mix(b, c, 24);
      add(a, v[b], v[b + 1]);
      add(a, m[y], m[y + 1]);
      mix(d, a, 16);
      add(c, v[d], v[d + 1]);
      mix(b, c, 63);
    };
    const blocks = Math.max(1, Math.ceil(message.length / 128));
    for (let number = 0; number < blocks; number++) {
      const block = new Uint8Array(128);
      block.set(message.subarray(128 * number, 128 * number + 128));
      const view = new DataView(block.buffer);
      for (let i = 0; i < 32; i++) m[i] = view.getUint32(4 * i, true);
      const final = number === blocks - 1;
      v.set(h);
      v.set(BLAKE_IV, 16);
      v[24] ^= final ? message.length : 128 * (number + 1); // a message is shorter than 4 GiB
      if (final) {
        v[28] = ~v[28];
        v[29] = ~v[29];
      }
      for (let i = 0; i < 12; i++) {
        const s = SIGMA[i % 10];
        round(0, 8, 16, 24, 2 * s[0], 2 * s[1]);
        round(2, 10, 18, 26, 2 * s[2], 2 * s[3]);
        round(4, 12, 20, 28, 2 * s[4], 2 * s[5]);
        round(6, 14, 22, 30, 2 * s[6], 2 * s[7]);
        round(0, 10, 20, 30, 2 * s[8], 2 * s[9]);
        round(2, 12, 22, 24, 2 * s[10], 2 * s[11]);
        round(4, 14, 16, 26, 2 * s[12], 2 * s[13]);
        round(6, 8, 18, 28, 2 * s[14], 2 * s[15]);
      }
      for (let i = 0; i < 16; i++) h[i] ^= v[i] ^ v[i + 16];
    }
    const digest = new Uint8Array(32);
    for (let i = 0; i < 8; i++) new DataView(digest.buffer).setUint32(4 * i, h[i], true);
    return digest;
  }

  function sha512(message) {
    const bytes = padded(message, 128);
    const turn = (x, n) => BigInt.asUintN(64, (x >> n) | (x << (64n - n)));
    const h = SQUARE_ROOTS.slice();
    for (let at = 0; at < bytes.length; at += 128) {
      const w = [];
      for (let i = 0; i < 16; i++) w.push(bigNumber(bytes.subarray(at + 8 * i, at + 8 * i + 8)));
      for (let i = 16; i < 80; i++) {
        const s0 = turn(w[i - 15], 1n) ^ turn(w[i - 15], 8n) ^ (w[i - 15] >> 7n);
        const s1 = turn(w[i - 2], 19n) ^ turn(w[i - 2], 61n) ^ (w[i - 2] >> 6n);
        w.push(BigInt.asUintN(64, w[i - 16] + s0 + w[i - 7] + s1));
      }
      let [a, b, c, d, e, f, g, last] = h;
      for (let i = 0; i < 80; i++) {
        const t1 = last + (turn(e, 14n) ^ turn(e, 18n) ^ turn(e, 41n)) + ((e & f) ^ (~e & g)) + CUBE_ROOTS[i] + w[i];
        const t2 = (turn(a, 28n) ^ turn(a, 34n) ^ turn(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
        [last, g, f, e, d, c, b, a] = [g, f, e, BigInt.asUintN(64, d + t1), c, b, a, BigInt.asUintN(64, t1 + t2)];
      }
      [a, b, c, d, e, f, g, last].forEach((word, i) => (h[i] = BigInt.asUintN(64, h[i] + word)));
    }
    return joined(...h.map((word) => bigEndian(word, 8)));
  }

  // --- Ed25519 (RFC 8032, section 5.1.7), verification only ----------------------------------------------------------

  const P = 2n ** 255n - 19n;
  const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
  const mod = (x) => ((x % P) + P) % P;

  function power(base, exponent) {
    let result = 1n;
    for (let square = mod(base); exponent; exponent >>= 1n, square = (square * square) % P) {
      if (exponent & 1n) result = (result * square) % P;
    }
    return result;
  }

  const inverse = (x) => power(x, P - 2n);
  const D = mod(-121665n * inverse(121666n));
  const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

  /** A point [X, Y, Z, T] with x = X/Z, y = Y/Z, xy = T/Z. */
  function plus([x1, y1, z1, t1], [x2, y2, z2, t2]) {
    const a = mod((y1 - x1) * (y2 - x2));
    const b = mod((y1 + x1) * (y2 + x2));
    const c = mod(2n * t1 * t2 * D);
    const d = mod(2n * z1 * z2);
    const [e, f, g, h] = [b - a, d - c, d + c, b + a];
    return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
  }

  function times(point, scalar) {
    let sum = [0n, 1n, 1n, 0n];
    for (let doubled = point; scalar; scalar >>= 1n, doubled = plus(doubled, doubled)) {
      if (scalar & 1n) sum = plus(sum, doubled);
    }
    return sum;
  }

  /** The x of a point with this y and lowest bit; null if there is none. */
  function recoverX(y, bit) {
    const x2 = mod((y * y - 1n) * inverse(D * y * y + 1n));
    let x = power(x2, (P + 3n) / 8n);
    if (mod(x * x - x2)) x = mod(x * ROOT_OF_MINUS_ONE);
    if (mod(x * x - x2) || (x === 0n && bit)) return null;
    return (x & 1n) === bit ? x : P - x;
  }

  const BASE_Y = mod(4n * inverse(5n));
  const BASE = ((x) => [x, BASE_Y, 1n, mod(x * BASE_Y)])(recoverX(BASE_Y, 0n));
  const littleEndian = (bytes) => bigNumber(Uint8Array.from(bytes).reverse());

  function decodePoint(bytes) {
    const number = littleEndian(bytes);
    const y = BigInt.asUintN(255, number);
    const x = y < P ? recoverX(y, number >> 255n) : null;
    return x === null ? null : [x, y, 1n, mod(x * y)];
  }

  function encodePoint([x, y, z]) {
    const scale = inverse(z);
    return bigEndian(mod(y * scale) | ((mod(x * scale) & 1n) << 255n), 32).reverse();
  }

  /** Whether `signature` (64 bytes) is the one of the holder of `key` (32 bytes) on `message`. */
  function ed25519(key, message, signature) {
    if (key.length !== 32 || signature.length !== 64) return false;
    const public_ = decodePoint(key);
    const r = signature.subarray(0, 32);
    const s = littleEndian(signature.subarray(32));
    if (!public_ || s >= ORDER) return false;
    const k = littleEndian(sha512(joined(r, key, message))) % ORDER;
    const minus = [mod(-public_[0]), public_[1], 1n, mod(-public_[3])];
    return toHex(encodePoint(plus(times(BASE, s), times(minus, k)))) === toHex(r);
  }

  // --- CROUPIER-RNG-1 ------------------------------------------------------------------------------------------------

  /** Every part behind its length. */
  function lp(...parts) {
    const bytes = parts.map((part) => (typeof part === "string" ? utf8.encode(part) : part));
    return joined(...bytes.flatMap((part) => [bigEndian(part.length, 4), part]));
  }

  const commitment = (seed, match, rules) => sha256(lp("croupier-rng-1/commit", match, rules, seed));
  const matchKey = (seed, match, rules, clientSeeds) =>
    hmacSha256(seed, lp("croupier-rng-1/key", match, rules, ...clientSeeds));
  const codeKey = (codeSeed, rules) => hmacSha256(codeSeed, lp("croupier-rng-1/code", rules));
  const botKey = (key) => hmacSha256(key, lp("croupier-rng-1/bots"));

  /** Chance for one label and one version; `log` is told every call, `deals` every deal. */
  class Stream {
    constructor(key, label, version, log = [], deals = []) {
      Object.assign(this, { key, version, log, deals, block: 0, left: [] });
      this.prefix = lp("croupier-rng-1/draw", label, bigEndian(version, 8));
    }

    u64() {
      if (!this.left.length) {
        const bytes = hmacSha256(this.key, joined(this.prefix, bigEndian(this.block++, 8)));
        for (let at = 0; at < 32; at += 8) this.left.push(bigNumber(bytes.subarray(at, at + 8)));
      }
      return this.left.shift();
    }

    next(k) {
      const size = BigInt(k);
      const limit = (1n << 64n) - ((1n << 64n) % size);
      for (;;) {
        const x = this.u64();
        if (x < limit) return Number(x % size);
      }
    }

    pick(k) {
      const result = this.next(k);
      this.log.push({ version: this.version, call: "pick", of: k, result });
      return result;
    }

    shuffle(cards) {
      const result = cards.slice();
      for (let i = result.length - 1; i > 0; i--) {
        const j = this.next(i + 1);
        [result[i], result[j]] = [result[j], result[i]];
      }
      this.log.push({ version: this.version, call: "shuffle", of: result.length, result });
      return result.slice();
    }

    dealt(deal) {
      this.deals.push({ version: this.version, ...deal });
    }
  }

  // --- what the games have in common ---------------------------------------------------------------------------------

  const repeat = (value, times_) => Array(times_).fill(value);
  const each = (count, make) => Array.from({ length: count }, (_, i) => make(i));
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const added = (a, b) => a.map((number, i) => number + b[i]);
  const sizes = (hands) => hands.map((hand) => hand.length);
  const where = (count, holds) => each(count, (i) => i).filter(holds);
  const inHands = (hands) => hands.map((cards) => ({ cards: cards.slice() }));
  const byOrder = (codes) => {
    const order = new Map(codes.map((code, i) => [code, i]));
    return (cards) => cards.slice().sort((a, b) => order.get(a) - order.get(b));
  };

  /** The cards that each seat gets from the top, one at a time, `count` times around from seat `first`. */
  const handedOut = (deck, seats, count, first) =>
    each(seats, (seat) => each(count, (i) => deck[i * seats + ((seat - first + seats) % seats)]));

  function drop(cards, card) {
    const at = cards.indexOf(card);
    return [...cards.slice(0, at), ...cards.slice(at + 1)];
  }

  const integer = (min, max, standard) => ({ type: "int", min, max, standard });
  const truth = (standard) => ({ type: "bool", words: [false, true], standard });
  const word = (...words) => ({ type: "word", words, standard: words[0] });

  /* A game: `options`, `moves` (name: {field: type}, "?" for one that may be absent), `deal` makes the first state,
     `legal` says whether a seat may make a move, `make` makes it, `owes` whether a seat has to move, `fallback` is the
     clock's move, `asked` names the decision that a seat faces, and `table`, `own` and `hidden` are what the digest is
     taken of, in the documented order. States change in place. Clauses (TT-4, 3.6) are those of the rules of record. */

  // --- Timo's Twist --------------------------------------------------------------------------------------------------

  const timosTwist = (function () {
    const COLORS = ["blue", "green", "orange", "pink"];
    const SYMBOLS = [..."0123456789", "skip", "twist", "plus2"];
    const DECK = [...COLORS.flatMap((color) => SYMBOLS.map((symbol) => `${color}-${symbol}`)), "wild", "plus4"];
    const sorted = byOrder(DECK);
    const black = (card) => card === "wild" || card === "plus4";
    const colorOf = (card) => (black(card) ? null : card.split("-")[0]);
    const symbolOf = (card) => card.split("-").pop();
    const valueOf = (card) => (black(card) ? 50 : /^\d$/.test(symbolOf(card)) ? Number(symbolOf(card)) : 20);
    const top = (s) => s.discards.at(-1);
    const next = (s, steps = 1) => (s.turn + steps * s.direction + 2 * s.hands.length) % s.hands.length;

    function playable(s, card) {
      if (s.pending) {
        if (card === "plus4") return top(s) !== "plus4" || s.options.stack_equal;
        return symbolOf(card) === "plus2" && top(s) !== "plus4" && s.options.stack_equal; // TT-7
      }
      if (black(card) || s.color === null) return true;
      return colorOf(card) === s.color || (!black(top(s)) && symbolOf(card) === symbolOf(top(s)));
    }

    function rightWay(s, seat, card, move) {
      const hand = s.hands[seat].length;
      const named = black(card) && hand > 1; // TT-13
      if (named ? !COLORS.includes(move.color) : move.color !== undefined) return false;
      return move.timo === undefined || (move.timo && hand === 2 && s.options.timo === "call"); // TT-17
    }

    function deal(options, round, dealer, totals, last, chance) {
      const n = totals.length;
      const deck = chance.shuffle(DECK);
      const first = (dealer + 1) % n;
      const turned = deck[7 * n];
      const hands = handedOut(deck, n, 7, first).map(sorted);
      const pile = deck.slice(7 * n + 1);
      chance.dealt({ round, dealer, hands: inHands(hands), turned: [turned], pile });
      return {
        ...{ options, round, dealer, turn: first, phase: "play", direction: 1, color: colorOf(turned), pending: 0 },
        ...{ pile: pile.slice(), discards: [turned], hands, totals, drawn: null, window: null, last, result: null },
      };
    }

    function draw(s, seat, count, chance) {
      const drawn = [];
      while (drawn.length < count) {
        if (!s.pile.length) {
          s.pile = chance.shuffle(s.discards.slice(0, -1)); // TT-20
          s.discards = s.discards.slice(-1);
          if (!s.pile.length) break;
        }
        drawn.push(s.pile.shift());
      }
      s.hands[seat] = sorted([...s.hands[seat], ...drawn]);
      return drawn;
    }

    function play(s, seat, card, move, chance) {
      s.hands[seat] = drop(s.hands[seat], card);
      s.discards.push(card);
      s.drawn = s.window = null;
      const hand = s.hands[seat];
      if (!hand.length) {
        const scores = repeat(0, s.hands.length); // TT-21
        scores[seat] = sum(s.hands.flat().map(valueOf));
        const totals = added(s.totals, scores);
        const last = { scores, hands: inHands(s.hands) };
        if (totals[seat] < s.options.target) {
          return deal(s.options, s.round + 1, (s.dealer + 1) % totals.length, totals, last, chance);
        }
        return Object.assign(s, { totals, last, result: { scores: totals, winners: [seat] } });
      }
      const symbol = symbolOf(card);
      let steps = 1;
      if (symbol === "skip") steps = 2;
      if (symbol === "twist") {
        s.direction = -s.direction;
        steps = s.hands.length === 2 && s.options.twist_skips_two ? 0 : 1; // TT-11
      }
      s.pending += { plus2: 2, plus4: 4 }[symbol] || 0;
      s.color = move.color || colorOf(card);
      s.turn = next(s, steps);
      s.phase = s.pending ? "pending" : "play";
      if (hand.length === 1 && s.options.timo === "call" && !move.timo) s.window = seat; // TT-15
      return s;
    }

    return {
      name: "timos_twist",
      seats: [2, 6],
      options: {
        ...{ target: integer(50, 1000, 300), stack_equal: truth(true), twist_skips_two: truth(true) },
        ...{ must_play: truth(true), timo: word("call", "auto") },
      },
      moves: {
        ...{ play: { card: "string", color: "string?", timo: "boolean?" } },
        ...{ play_drawn: { color: "string?", timo: "boolean?" }, draw: {}, keep: {}, take: {}, call_timo: {} },
        catch: {},
      },
      deal: (options, n, chance) => deal(options, 1, chance.pick(n), repeat(0, n), null, chance),
      legal(s, seat, name, move) {
        if (name === "call_timo") return s.window === seat;
        if (name === "catch") return s.window !== null && s.window !== seat;
        if (seat !== s.turn) return false;
        const can = s.hands[seat].some((card) => playable(s, card));
        switch (name) {
          case "play_drawn":
            return s.phase === "drawn" && playable(s, s.drawn) && rightWay(s, seat, s.drawn, move);
          case "keep":
            return s.phase === "drawn";
          case "play":
            if (s.phase === "drawn" || !s.hands[seat].includes(move.card)) return false;
            return playable(s, move.card) && rightWay(s, seat, move.card, move);
          case "take":
            return s.phase === "pending";
          default: // TT-4
            if (s.phase !== "play" || !can) return s.phase === "play";
            return !s.options.must_play && (s.pile.length > 0 || s.discards.length > 1);
        }
      },
      make(s, seat, name, move, chance) {
        const following = next(s);
        switch (name) {
          case "play":
            return play(s, seat, move.card, move, chance);
          case "play_drawn":
            return play(s, seat, s.drawn, move, chance);
          case "call_timo":
            return Object.assign(s, { window: null });
          case "catch":
            draw(s, s.window, 2, chance);
            return Object.assign(s, { window: null });
          case "keep":
            return Object.assign(s, { turn: following, phase: "play", drawn: null, window: null });
          case "take":
            draw(s, seat, s.pending, chance);
            return Object.assign(s, { turn: following, phase: "play", pending: 0, window: null });
          default: {
            const [drawn] = draw(s, seat, 1, chance);
            return Object.assign(s, drawn ? { phase: "drawn", drawn } : { turn: following }, { window: null });
          }
        }
      },
      owes: (s, seat) => seat === s.turn,
      fallback(s, seat) {
        if (s.phase !== "play") return { [s.phase === "drawn" ? "keep" : "take"]: {} };
        const card = s.hands[seat].find((held) => playable(s, held));
        if (!card) return { draw: {} };
        const move = { card };
        if (black(card) && s.hands[seat].length > 1) {
          const rest = s.hands[seat].map(colorOf);
          const count = (color) => rest.filter((other) => other === color).length;
          move.color = COLORS.reduce((best, color) => (count(color) > count(best) ? color : best));
        }
        if (s.hands[seat].length === 2 && s.options.timo === "call") move.timo = true;
        return { play: move };
      },
      asked: (s, seat) =>
        seat === s.turn ? ["turn", s.round, s.phase] : s.window === null ? null : ["window", s.round, s.window],
      table: (s) => ({
        ...{ round: s.round, dealer: s.dealer, turn: s.turn, phase: s.phase, direction: s.direction, top: top(s) },
        ...{ color: s.color, pending: s.pending, draw_pile: s.pile.length, discard_pile: s.discards.length },
        ...{ hand_sizes: sizes(s.hands), totals: s.totals, timo_window: s.window },
        ...{ last_round: s.last },
      }),
      own: (s, seat) => ({ hand: s.hands[seat], drawn: seat === s.turn ? s.drawn : null }),
      hidden: (s) => ({ draw_pile: s.pile, discards: s.discards.slice(0, -1) }),
    };
  })();

  // --- Bombenziehen --------------------------------------------------------------------------------------------------

  const bombenziehen = (function () {
    const ACTIONS = ["peek", "dodge", "bottom", "shove", "steal", "shield", "shuffle"];
    const sorted = byOrder([...ACTIONS, "dud", "cutter", "bomb"]);
    const living = (s, seat) => {
      let other = seat;
      do other = (other + 1) % s.alive.length;
      while (!s.alive[other]);
      return other;
    };

    function pay(s, seat) {
      s.owed -= 1;
      if (!s.owed) Object.assign(s, { turn: living(s, seat), owed: 1 }); // 3.5
    }

    function take(s, seat, source) {
      const card = source === "top" ? s.pile.shift() : s.pile.pop();
      for (const [i, info] of s.infos.entries()) {
        s.infos[i] =
          source === "top"
            ? info.filter((known) => known.index).map((known) => ({ index: known.index - 1, card: known.card }))
            : info.filter((known) => known.index !== s.pile.length);
      }
      if (card !== "bomb") {
        s.hands[seat] = sorted([...s.hands[seat], card]);
        pay(s, seat);
      } else if (s.hands[seat].includes("cutter")) {
        s.hands[seat] = drop(s.hands[seat], "cutter"); // BZ-16
        s.discard.push("cutter");
        s.phase = "place_bomb";
      } else {
        out(s, seat);
      }
    }

    function out(s, seat) {
      const follower = living(s, seat);
      s.discard.push(...s.hands[seat], "bomb");
      s.alive[seat] = s.shields[seat] = false;
      s.hands[seat] = [];
      s.infos[seat] = [];
      s.out.push(seat);
      const n = s.alive.length;
      if (s.out.length < n - 1) {
        Object.assign(s, { turn: follower, owed: 1 });
      } else {
        const places = each(n, (other) => (other === follower ? 1 : n - s.out.indexOf(other))); // BZ-18
        Object.assign(s, { owed: 0, result: { scores: places, winners: [follower] } });
      }
    }

    function putBack(s, seat, index) {
      const above = s.infos[seat].filter((known) => known.index < index);
      const below = s.infos[seat].filter((known) => known.index >= index);
      s.infos = s.infos.map(() => []); // BZ-13
      s.infos[seat] = [...above, { index, card: "bomb" }, ...below.map((k) => ({ index: k.index + 1, card: k.card }))];
      s.pile.splice(index, 0, "bomb");
      s.phase = "act";
      pay(s, seat);
    }

    function play(s, seat, card, target, chance) {
      const aimed = card === "shove" ? living(s, seat) : card === "steal" ? target : null; // BZ-8
      const blocked = aimed !== null && s.shields[aimed];
      s.hands[seat] = drop(s.hands[seat], card);
      s.discard.push(card);
      if (blocked) s.shields[aimed] = false;
      switch (card) {
        case "peek": {
          const seen = s.pile.slice(0, 3).map((kind, index) => ({ index, card: kind }));
          s.infos[seat] = [...seen, ...s.infos[seat].filter((known) => known.index >= 3)];
          break;
        }
        case "dodge":
          pay(s, seat);
          break;
        case "bottom":
          take(s, seat, "bottom");
          break;
        case "shove":
          Object.assign(s, { turn: aimed, owed: blocked ? 1 : 2 }); // BZ-7, BZ-10
          break;
        case "steal":
          if (!blocked) {
            const place = chance.pick(s.hands[aimed].length);
            const [stolen] = s.hands[aimed].splice(place, 1);
            s.hands[seat] = sorted([...s.hands[seat], stolen]);
          }
          break;
        case "shield":
          s.shields[seat] = true;
          break;
        default:
          s.pile = chance.shuffle(s.pile);
          s.infos = s.infos.map(() => []);
      }
    }

    return {
      name: "bombenziehen",
      seats: [2, 5],
      options: { duds_in_start_hand: truth(false) },
      moves: { play: { card: "string", target: "number?" }, draw: {}, place: { index: "number" }, place_random: {} },
      deal(options, n, chance) {
        const start = chance.pick(n);
        const duds = repeat("dud", 2 * n); // BZ-2 to BZ-4
        const actions = ACTIONS.flatMap((kind) => repeat(kind, n + 1));
        const stock = chance.shuffle(options.duds_in_start_hand ? [...actions, ...duds] : actions);
        const hands = handedOut(stock, n, 4, start).map((hand) => sorted([...hand, "cutter"]));
        const late = options.duds_in_start_hand ? [] : duds;
        const rest = [...stock.slice(4 * n), ...late, ...repeat("cutter", n <= 3 ? 1 : 2), ...repeat("bomb", n - 1)];
        const pile = chance.shuffle(rest);
        chance.dealt({ round: 1, start, hands: inHands(hands), pile: pile.slice() });
        return {
          ...{ options, turn: start, phase: "act", owed: 1, pile, alive: repeat(true, n), shields: repeat(false, n) },
          ...{ hands, infos: each(n, () => []), discard: [], out: [], result: null },
        };
      },
      legal(s, seat, name, move) {
        if (seat !== s.turn || (s.phase === "place_bomb") !== name.startsWith("place")) return false;
        if (name === "place") return Number.isInteger(move.index) && move.index >= 0 && move.index <= s.pile.length;
        if (name !== "play") return true;
        if (!ACTIONS.includes(move.card) || !s.hands[seat].includes(move.card)) return false;
        if (move.card !== "steal") return move.target === undefined && !(move.card === "shield" && s.shields[seat]);
        return move.target !== seat && (s.hands[move.target] || []).length > 0; // BZ-11
      },
      make(s, seat, name, move, chance) {
        if (name === "play") play(s, seat, move.card, move.target, chance);
        else if (name === "place") putBack(s, seat, move.index);
        else if (name === "place_random") putBack(s, seat, chance.pick(s.pile.length + 1));
        else take(s, seat, "top");
        return s;
      },
      owes: (s, seat) => seat === s.turn,
      fallback: (s) => (s.phase === "act" ? { draw: {} } : { place_random: {} }),
      asked: (s, seat) => (seat === s.turn ? [s.phase, s.discard.length, s.pile.length] : null),
      table: (s) => ({
        ...{ turn: s.turn, phase: s.phase, owed: s.owed, pile: s.pile.length },
        ...{ bombs: s.pile.filter((card) => card === "bomb").length, alive: s.alive, shields: s.shields },
        ...{ hand_sizes: sizes(s.hands), discard: s.discard, out: s.out },
      }),
      own: (s, seat) => ({ hand: s.hands[seat], known: s.infos[seat] }),
      hidden: (s) => ({ pile: s.pile }),
    };
  })();

  // --- Bluffing Billionaires -----------------------------------------------------------------------------------------

  const bluffingBillionaires = (function () {
    const CODES = each(10, (i) => String(i + 1));
    const sorted = (cards) => cards.slice().sort((a, b) => a - b);
    const coinsOf = (card) => Math.ceil(Number(card) / 3); // BB-3
    const owesAnswer = (s, seat) => s.voters.includes(seat) && s.answers.every((vote) => vote.seat !== seat);

    function deal(options, game, start, points, coins, last, chance) {
      const n = points.length;
      const hands = each(n, () => CODES.slice());
      chance.dealt({ round: game, start, hands: inHands(hands) });
      return {
        ...{ options, game, start, turn: start, phase: "play", hands, lying: repeat(null, n) },
        ...{ seen: each(n, () => []), unseen: each(n, () => []), bonus: each(n, () => []), points, coins },
        ...{ voters: [], answers: [], votes: [], revealed: [], last, result: null },
      };
    }

    function endGame(s, chance) {
      const coins = s.bonus.map((pile) => sum(pile.map((won) => coinsOf(won.card)))); // BB-17
      const scores = s.hands.map((hand, seat) => sum(hand.map(Number)) + coins[seat]);
      const points = added(s.points, scores);
      const allCoins = added(s.coins, coins);
      const last = { scores, coins, hands: inHands(s.hands) };
      const n = points.length;
      if (s.game < s.options.games) {
        return deal(s.options, s.game + 1, (s.start + 1) % n, points, allCoins, last, chance);
      }
      const most = Math.max(...points);
      const richest = Math.max(...allCoins.filter((_, seat) => points[seat] === most)); // BB-18
      const winners = where(n, (i) => points[i] === most && allCoins[i] === richest);
      return Object.assign(s, { points, coins: allCoins, last, result: { scores: points, winners } });
    }

    function beginTurn(s, seat, chance) {
      Object.assign(s, { turn: seat % s.hands.length, phase: "play", voters: [], answers: [] });
      return s.hands[s.turn].length ? s : endGame(s, chance); // BB-10
    }

    function play(s, seat, card, chance) {
      s.hands[seat] = drop(s.hands[seat], card);
      if (s.lying[seat] !== null) s.unseen[seat] = sorted([...s.unseen[seat], s.lying[seat]]); // BB-6
      s.lying[seat] = card;
      const voters = where(s.hands.length, (other) => other !== seat && s.lying[other] !== null);
      if (!s.hands[seat].length) return endGame(s, chance); // BB-9
      if (!voters.length) return beginTurn(s, seat + 1, chance);
      return Object.assign(s, { phase: "vote", voters, votes: [], revealed: [] });
    }

    function answer(s, seat, challenge, chance) {
      const answers = [...s.answers, { seat, challenge }].sort((a, b) => a.seat - b.seat);
      if (answers.length < s.voters.length) return Object.assign(s, { answers });
      s.votes = answers;
      const n = s.hands.length;
      const challengers = each(n - 1, (i) => (s.turn + 1 + i) % n) // BB-11
        .filter((other) => answers.some((vote) => vote.seat === other && vote.challenge));
      if (challengers.length) compare(s, challengers, chance);
      return beginTurn(s, s.turn + 1, chance); // BB-15
    }

    function compare(s, challengers, chance) {
      const active = s.turn;
      const shown = [active, ...challengers].sort((a, b) => a - b).map((seat) => ({ seat, card: s.lying[seat] }));
      const taken = new Set();
      for (const challenger of challengers) {
        const wins = Number(s.lying[active]) > Number(s.lying[challenger]); // BB-12
        const [winner, loser] = wins ? [active, challenger] : [challenger, active];
        if (s.hands[loser].length) {
          const [card] = s.hands[loser].splice(chance.pick(s.hands[loser].length), 1);
          s.bonus[winner].push({ card, owner: loser });
        }
        if (challengers.length === 1) {
          s.bonus[winner].push({ card: s.lying[loser], owner: loser }); // BB-14
          taken.add(loser);
        }
      }
      for (const { seat, card } of shown) {
        if (!taken.has(seat)) s.seen[seat] = sorted([...s.seen[seat], card]);
        s.lying[seat] = null;
      }
      s.revealed = shown;
    }

    return {
      name: "bluffing_billionaires",
      seats: [2, 6],
      options: { games: integer(1, 12, 1) },
      moves: { play: { card: "string" }, approve: {}, challenge: {} },
      deal: (options, n, chance) => deal(options, 1, chance.pick(n), repeat(0, n), repeat(0, n), null, chance),
      legal(s, seat, name, move) {
        if (name === "play") return s.phase === "play" && seat === s.turn && s.hands[seat].includes(move.card);
        return s.phase === "vote" && owesAnswer(s, seat);
      },
      make: (s, seat, name, move, chance) =>
        name === "play" ? play(s, seat, move.card, chance) : answer(s, seat, name === "challenge", chance),
      owes: (s, seat) => (s.phase === "play" ? seat === s.turn : owesAnswer(s, seat)),
      fallback: (s, seat) => (s.phase === "play" ? { play: { card: s.hands[seat][0] } } : { approve: {} }),
      asked(s, seat) {
        if (s.phase === "play") return seat === s.turn ? ["turn", s.game, s.hands[seat].length] : null;
        return owesAnswer(s, seat) ? ["vote", s.game, s.turn, s.hands[s.turn].length] : null;
      },
      table: (s) => ({
        ...{ game: s.game, start: s.start, turn: s.turn, phase: s.phase },
        ...{ hand_sizes: sizes(s.hands), on_table: s.lying.map((card) => card !== null) },
        ...{ voters: s.voters, answered: s.answers.map((vote) => vote.seat), votes: s.votes, revealed: s.revealed },
        bonus: s.bonus.map((cards) => ({ cards })),
        discards: s.seen.map((known, seat) => ({ known, hidden: s.unseen[seat].length })),
        ...{ points: s.points, coins: s.coins, last_round: s.last },
      }),
      own(s, seat) {
        const vote = s.answers.find((given) => given.seat === seat);
        const given = vote ? (vote.challenge ? "challenge" : "approve") : null;
        return { hand: s.hands[seat], table_card: s.lying[seat], discarded: s.unseen[seat], answer: given };
      },
      hidden: () => ({}),
    };
  })();

  // --- Clever gedreht ------------------------------------------------------------------------------------------------

  const cleverGedreht = (function () {
    const NUMBERS = [..."123456789"];
    const DECK = [...NUMBERS, "flip", "swap"].flatMap((code) => repeat(code, 10)); // CG-2
    const valueOf = (card) => (NUMBERS.includes(card) ? Number(card) : 0);
    const slots = (grid) => where(grid.length, (slot) => grid[slot]);
    const inHand = (s) => s.taken || s.drawn;
    const more = (grid, a, b) => valueOf(grid[a]) > valueOf(grid[b]);
    const lowest = (grid) => slots(grid).reduce((best, slot) => (more(grid, best, slot) ? slot : best));
    const highest = (grid) => slots(grid).reduce((best, slot) => (more(grid, slot, best) ? slot : best));

    function deal(options, round, dealer, totals, last, chance) {
      const n = totals.length;
      const size = n >= 5 ? 7 : 9; // CG-3
      const deck = chance.shuffle(DECK);
      const first = (dealer + 1) % n;
      const open = handedOut(deck, n, size, first);
      const turned = deck[size * n];
      const pile = deck.slice(size * n + 1);
      chance.dealt({ round, dealer, hands: inHands(open), turned: [turned], pile: pile.slice() });
      return {
        ...{ options, round, dealer, turn: first, phase: "source", open, turned: each(n, () => repeat("", size)) },
        ...{ pile, discards: [turned], totals, taken: null, drawn: null, finisher: null, last, result: null },
      };
    }

    /** The seats that an action card can be aimed at, from the one after the seat on turn (CG-12, CG-13, CG-17). */
    function targets(s, action) {
      const grids = action === "flip" ? s.turned : s.open;
      const spared = action === "flip" && s.options.protect_finisher ? s.finisher : null;
      const n = s.open.length;
      return each(n - 1, (i) => (s.turn + 1 + i) % n).filter((seat) => seat !== spared && slots(grids[seat]).length);
    }

    function put(s, seat, slot, card, face) {
      s.open[seat][slot] = face === "open" ? card : "";
      s.turned[seat][slot] = face === "open" ? "" : card;
    }

    function endTurn(s, chance) {
      const following = (s.turn + 1) % s.open.length;
      if (s.finisher === null && !slots(s.open[s.turn]).length) s.finisher = s.turn; // CG-16
      else if (following === s.finisher) return endRound(s, chance);
      return Object.assign(s, { turn: following, phase: "source" });
    }

    function endRound(s, chance) {
      const scores = s.turned.map((grid) => sum(grid.map(valueOf)));
      const totals = added(s.totals, scores);
      const whole = s.open.map((grid, seat) => grid.map((card, slot) => card || s.turned[seat][slot]));
      const last = { scores, hands: inHands(whole) };
      if (s.round !== s.options.rounds) {
        return deal(s.options, s.round + 1, (s.dealer + 1) % totals.length, totals, last, chance);
      }
      const best = Math.max(...totals); // CG-4
      const winners = where(totals.length, (seat) => totals[seat] === best);
      return Object.assign(s, { totals, last, result: { scores: totals, winners } });
    }

    function draw(s, chance) {
      if (!s.pile.length) {
        s.pile = chance.shuffle(s.discards.slice(0, -1)); // CG-18
        s.discards = s.discards.slice(-1);
      }
      const card = s.pile.shift();
      if (NUMBERS.includes(card)) return Object.assign(s, { phase: "decide", drawn: card });
      s.discards.push(card); // CG-10
      return targets(s, card).length ? Object.assign(s, { phase: card }) : endTurn(s, chance);
    }

    return {
      name: "clever_gedreht",
      seats: [2, 6],
      options: { rounds: integer(1, 12, "seats"), protect_finisher: truth(false), reject_taken: truth(false) },
      moves: {
        ...{ draw: {}, take: {}, use: { slot: "number", face: "string" }, reject: { slot: "number" } },
        ...{ flip: { seat: "number", slot: "number" }, swap: { slot: "number", seat: "number", other_slot: "number" } },
      },
      deal: (options, n, chance) => deal(options, 1, chance.pick(n), repeat(0, n), null, chance),
      legal(s, seat, name, move) {
        if (seat !== s.turn) return false;
        const mine = () => Boolean(s.open[seat][move.slot]); // CG-7
        switch (name) {
          case "draw":
            return s.phase === "source";
          case "take": // CG-5
            return s.phase === "source" && NUMBERS.includes(s.discards.at(-1));
          case "use":
            return ["use", "decide"].includes(s.phase) && mine() && ["open", "turned"].includes(move.face);
          case "reject": // CG-6
            return (s.phase === "decide" || (s.phase === "use" && s.options.reject_taken)) && mine();
          case "flip":
            if (s.phase !== "flip" || !targets(s, "flip").includes(move.seat)) return false;
            return Boolean(s.turned[move.seat][move.slot]);
          default:
            if (s.phase !== "swap" || !mine() || !targets(s, "swap").includes(move.seat)) return false;
            return Boolean(s.open[move.seat][move.other_slot]);
        }
      },
      make(s, seat, name, move, chance) {
        switch (name) {
          case "draw":
            return draw(s, chance);
          case "take":
            return Object.assign(s, { phase: "use", taken: s.discards.pop() });
          case "use": {
            const replaced = s.open[seat][move.slot];
            put(s, seat, move.slot, inHand(s), move.face);
            s.discards.push(replaced);
            break;
          }
          case "reject": // CG-9
            put(s, seat, move.slot, s.open[seat][move.slot], "turned");
            s.discards.push(inHand(s));
            break;
          case "flip":
            put(s, move.seat, move.slot, s.turned[move.seat][move.slot], "open");
            break;
          default: {
            const [mine, theirs] = [s.open[seat][move.slot], s.open[move.seat][move.other_slot]];
            put(s, seat, move.slot, theirs, "open");
            put(s, move.seat, move.other_slot, mine, "open");
          }
        }
        return endTurn(Object.assign(s, { taken: null, drawn: null }), chance);
      },
      owes: (s, seat) => seat === s.turn,
      fallback(s, seat) {
        const own = s.open[seat];
        if (s.phase === "source") return { draw: {} };
        if (s.phase === "decide") return { reject: { slot: highest(own) } };
        if (s.phase === "use") return { use: { slot: lowest(own), face: "turned" } };
        const [target] = targets(s, s.phase);
        if (s.phase === "flip") return { flip: { seat: target, slot: slots(s.turned[target])[0] } };
        return { swap: { slot: lowest(own), seat: target, other_slot: highest(s.open[target]) } };
      },
      asked: (s, seat) => (seat === s.turn ? [s.round, s.phase] : null),
      table: (s) => ({
        ...{ round: s.round, dealer: s.dealer, turn: s.turn, phase: s.phase },
        grids: s.open.map((cards) => ({ cards })),
        ...{ top: s.discards.at(-1) ?? null, taken: s.taken },
        ...{ draw_pile: s.pile.length, discard_pile: s.discards.length, finisher: s.finisher, totals: s.totals },
        ...{ last_round: s.last },
      }),
      own: (s, seat) => ({
        turned: slots(s.turned[seat]).map((slot) => ({ slot, card: s.turned[seat][slot] })),
        drawn: seat === s.turn ? s.drawn : null,
      }),
      hidden: (s) => ({ draw_pile: s.pile, discards: s.discards.slice(0, -1), over: s.result !== null }),
    };
  })();

  // --- Tom's Time Bluff ----------------------------------------------------------------------------------------------

  const tomsTimeBluff = (function () {
    const HOURS = each(12, (i) => i + 1);
    const CLOCKS = [..."ARSG"].flatMap((kind) => HOURS.map((hour) => kind + hour)); // TB-1
    const PARTNERS = { kaputt: ["A", 3], snooze: ["R", 6], beam: ["S", 9], jungle: ["G", 12] }; // TB-2
    const CODES = [...CLOCKS, "joker", "vortex", ...Object.keys(PARTNERS), "cuckoo"];
    const sorted = byOrder(CODES);
    const isClock = (card) => CLOCKS.includes(card);
    const openable = (card) => isClock(card) || card === "joker" || card === "vortex"; // TB-10
    const hourOf = (card) => Number(card.slice(1));
    const valueOf = (card) => (isClock(card) ? 1 : card === "vortex" ? 10 : 5); // TB-31
    const left = (s, seat) => (seat + 1) % s.hands.length;
    const entry = (card, hour, seat) => ({ card, hour: hour === undefined ? null : hour, seat });

    /** Cuts a move short: the round is over, won by nobody when a draw was impossible (TB-14). */
    class RoundEnds {}

    function deckOf(options) {
      const partners = options.partner_cards ? Object.keys(PARTNERS) : []; // TB-3
      return [...CLOCKS, ...repeat("joker", 3), ...repeat("vortex", 3), ...partners, "cuckoo"];
    }

    /** The first wanted card of a pile, those set aside before it, and the rest; null if the pile runs out. */
    function turnUp(pile, wanted) {
      const at = pile.findIndex(wanted);
      return at < 0 ? null : { card: pile[at], aside: pile.slice(0, at), rest: pile.slice(at + 1) };
    }

    const shuffledIn = (pile, aside, chance) => (aside.length ? chance.shuffle([...pile, ...aside]) : pile);

    function deal(options, round, dealer, totals, last, chance) {
      const n = totals.length;
      const deck = chance.shuffle(deckOf(options));
      const first = (dealer + 1) % n;
      const hands = handedOut(deck, n, 6, first).map(sorted);
      const turned = [];
      const aside = [];
      let rest = deck.slice(6 * n);
      for (let place = 0; place < 3; place++) {
        const up = turnUp(rest, isClock); // TB-6
        turned.push(up.card);
        aside.push(...up.aside);
        rest = up.rest;
      }
      const pile = shuffledIn(rest, aside, chance);
      chance.dealt({ round, dealer, hands: inHands(hands), turned, aside, pile: pile.slice() });
      return {
        ...{ options, round, dealer, turn: first, phase: "hide" },
        piles: turned.map((card) => [entry(card, null, null)]),
        ...{ pile, hands, laid: each(n, () => []), answers: repeat(null, n), totals, skips: repeat(false, n) },
        ...{ removed: 0, revealed: null, play: null, last, result: null },
      };
    }

    function actor(s) {
      const { play } = s;
      if (!play || play.challenger === null || (play.right && s.phase === "place")) return s.turn;
      return play.challenger; // TB-19
    }

    const owes = (s, seat) =>
      s.phase === "challenge" ? seat !== s.turn && s.answers[seat] === null : seat === actor(s);

    /** The cards that may go face down so that another one can lie open (TB-11, TB-12). */
    function hideable(s, seat) {
      const hand = s.hands[seat];
      if (hand.length === 1) return hand;
      return hand.filter((_, i) => hand.some((other, j) => j !== i && openable(other)));
    }

    function fits(s, partner, clock) {
      const [kind, hour] = PARTNERS[partner];
      return s.options.partner_match === "kind" ? clock[0] === kind : hourOf(clock) === hour;
    }

    function begin(s, seat, chance) {
      while (s.skips[seat]) {
        s.skips[seat] = false; // TB-22
        seat = left(s, seat);
      }
      Object.assign(s, { turn: seat, phase: "hide", play: null, revealed: null });
      if (s.piles.some((pile) => pile.length)) return;
      const up = turnUp(s.pile, isClock); // TB-17
      if (!up) throw new RoundEnds();
      s.piles[0] = [entry(up.card, null, null)];
      s.pile = shuffledIn(up.rest, up.aside, chance);
    }

    /** Hand cards openly onto the place of the play; the first one is o of 3.4. */
    function lay(s, seat, ...entries) {
      for (const { card } of entries) s.hands[seat] = drop(s.hands[seat], card);
      s.piles[s.play.place].push(...entries);
      s.play.over = entries[0].card;
    }

    function give(s, seat, cards) {
      s.hands[seat] = sorted([...s.hands[seat], ...cards]);
    }

    function draw(s, seat, count) {
      const cards = s.pile.splice(0, count);
      give(s, seat, cards);
      if (cards.length < count) throw new RoundEnds();
    }

    function drawStep(s, chance) {
      const size = s.hands[s.turn].length; // TB-13
      if (size > 0 && size < 6 && !s.pile.length) throw new RoundEnds();
      if (size && s.options.manual_draw) {
        s.phase = "draw";
        return;
      }
      if (size > 0 && size < 6) draw(s, s.turn, 1);
      finish(s, chance);
    }

    function finish(s, chance) {
      if (s.play.protected) passOn(s, chance);
      else s.phase = "challenge";
    }

    function passOn(s, chance) {
      if (!s.hands[s.turn].length) throw new RoundEnds();
      begin(s, left(s, s.turn), chance);
    }

    function help(s, seat, partner, chance) {
      const holds = s.hands[seat].length > 0;
      const n = s.hands.length;
      if (partner === "kaputt" && holds) for (let i = 1; i < n; i++) draw(s, (seat + i) % n, 1); // TB-23
      if (partner === "snooze") {
        s.skips[left(s, seat)] = true;
        if (holds) draw(s, left(s, seat), 1);
      }
      if (partner === "jungle") s.play.protected = true; // TB-25
      if (partner === "beam" && holds) s.phase = "beam"; // TB-24
      else drawStep(s, chance);
    }

    function answer(s, seat, given, chance) {
      s.answers[seat] = given;
      const n = s.hands.length;
      for (let i = 1; i < n; i++) {
        const first = (s.turn + i) % n; // TB-15
        if (s.answers[first] === null) return;
        if (s.answers[first] === "challenge") {
          s.answers = repeat(null, n);
          doubt(s, first, chance);
          return;
        }
      }
      s.answers = repeat(null, n);
      passOn(s, chance);
    }

    function doubt(s, challenger, chance) {
      const { play } = s;
      const pile = s.piles[play.place];
      const hidden = s.laid[s.turn].find((laid) => laid.place === play.place && laid.index === play.index);
      const below = pile[play.index - 1];
      const { card } = hidden;
      let right = isClock(card) && hourOf(card) === ((below.hour || hourOf(below.card)) % 12) + 1;
      if (card === "joker") right = below.card !== "joker" && play.over !== "joker"; // TB-8
      if (card === "vortex") right = play.over !== "joker";
      pile[play.index] = entry(card, null, s.turn);
      s.laid[s.turn] = s.laid[s.turn].filter((laid) => laid !== hidden);
      s.revealed = card;
      Object.assign(play, { challenger, right });
      if (right && !s.hands[s.turn].length) {
        takePile(s, challenger); // TB-26, TB-28
        throw new RoundEnds();
      }
      if (card === "vortex") s.phase = "vortex";
      else lose(s);
    }

    function lose(s) {
      takePile(s, s.play.right ? s.play.challenger : s.turn);
      s.phase = "place";
    }

    function takePile(s, seat) {
      const { place } = s.play;
      const down = s.laid.flat().filter((laid) => laid.place === place);
      const up = s.piles[place].filter((each_) => each_.card !== null);
      give(s, seat, [...down, ...up].map((each_) => each_.card));
      s.piles[place] = [];
      s.laid = s.laid.map((own) => own.filter((laid) => laid.place !== place));
    }

    function moveHands(s, to, chance) {
      s.hands = to === "left" ? [...s.hands.slice(-1), ...s.hands.slice(0, -1)] : [...s.hands.slice(1), s.hands[0]];
      if (s.hands.some((hand) => !hand.length)) throw new RoundEnds(); // TB-27, TB-29
      const { play } = s;
      const hidden = play.challenger !== null;
      const pile = s.piles[play.place];
      const up = turnUp(s.pile, hidden ? () => true : openable); // TB-21
      if (!up) throw new RoundEnds();
      pile[hidden ? play.index : pile.length - 1] = entry(up.card, null, null);
      s.pile = shuffledIn(up.rest, up.aside, chance);
      s.removed += 1;
      if (up.card === "vortex") return;
      if (hidden) lose(s);
      else if (up.card === "joker") s.phase = "joker_hour";
      else drawStep(s, chance);
    }

    function endRound(s, chance) {
      const scores = s.hands.map((hand) => sum(hand.map(valueOf)));
      const totals = added(s.totals, scores);
      const last = { scores, hands: inHands(s.hands), revealed: s.revealed };
      if (Math.max(...totals) < s.options.target) {
        return deal(s.options, s.round + 1, left(s, s.dealer), totals, last, chance); // TB-5
      }
      const least = Math.min(...totals);
      const winners = where(totals.length, (seat) => totals[seat] === least);
      return Object.assign(s, { totals, last, result: { scores: totals, winners } });
    }

    function make(s, seat, name, move, chance) {
      switch (name) {
        case "hide": {
          const pile = s.piles[move.place];
          s.hands[seat] = drop(s.hands[seat], move.card);
          const at = { place: move.place, index: pile.length };
          s.play = { ...at, over: null, protected: false, challenger: null, right: null };
          s.laid[seat].push({ ...at, card: move.card });
          s.laid[seat].sort((a, b) => a.place - b.place || a.index - b.index);
          pile.push(entry(null, null, seat));
          s.phase = "open";
          if (!s.hands[seat].length) drawStep(s, chance);
          break;
        }
        case "draw_instead":
          draw(s, seat, 1); // TB-12
          if (!hideable(s, seat).length) begin(s, left(s, seat), chance);
          break;
        case "open":
          lay(s, seat, entry(move.card, move.hour, seat));
          if (move.card === "vortex") s.phase = "vortex";
          else drawStep(s, chance);
          break;
        case "partner":
          lay(s, seat, entry(move.partner, null, seat), entry(move.clock, null, seat));
          help(s, seat, move.partner, chance);
          break;
        case "beam":
          s.hands[seat] = drop(s.hands[seat], move.card);
          give(s, move.target, [move.card]);
          drawStep(s, chance);
          break;
        case "direction":
          moveHands(s, move.to, chance);
          break;
        case "name_hour": {
          const pile = s.piles[s.play.place];
          pile.at(-1).hour = move.hour;
          drawStep(s, chance);
          break;
        }
        case "draw":
          draw(s, seat, 1);
          finish(s, chance);
          break;
        case "end_turn":
          if (s.hands[seat].length < 6) draw(s, seat, 2);
          finish(s, chance);
          break;
        case "place":
          lay(s, seat, entry(move.card, move.hour, seat));
          if (!s.hands[seat].length) throw new RoundEnds(); // TB-18
          begin(s, left(s, s.turn), chance);
          break;
        case "decline":
          begin(s, left(s, s.turn), chance); // TB-32
          break;
        default:
          answer(s, seat, name, chance);
      }
    }

    return {
      name: "toms_time_bluff",
      seats: [2, 6],
      options: {
        ...{ partner_cards: truth(true), partner_match: word("kind", "hour"), target: integer(10, 200, 50) },
        manual_draw: truth(false),
      },
      moves: {
        ...{ hide: { place: "number", card: "string" }, draw_instead: {}, open: { card: "string", hour: "number?" } },
        ...{ partner: { partner: "string", clock: "string" }, beam: { card: "string", target: "number" } },
        ...{ direction: { to: "string" }, name_hour: { hour: "number" }, draw: {}, end_turn: {}, challenge: {} },
        ...{ accept: {}, place: { card: "string", hour: "number?" }, decline: {} },
      },
      deal: (options, n, chance) => deal(options, 1, chance.pick(n), repeat(0, n), null, chance),
      legal(s, seat, name, move) {
        if (!owes(s, seat)) return false;
        const hand = s.hands[seat];
        const phases = { draw_instead: "hide", partner: "open", direction: "vortex", name_hour: "joker_hour" };
        Object.assign(phases, { end_turn: "draw", accept: "challenge", decline: "place" });
        if (s.phase !== (phases[name] || name)) return false;
        const rightHour = () => (move.card === "joker" ? HOURS.includes(move.hour) : move.hour === undefined); // TB-7
        switch (name) {
          case "hide":
            return hideable(s, seat).includes(move.card) && (s.piles[move.place] || []).length > 0;
          case "draw_instead":
            return !hideable(s, seat).length;
          case "open":
            return hand.includes(move.card) && openable(move.card) && rightHour();
          case "partner":
            if (!hand.includes(move.partner) || !(move.partner in PARTNERS)) return false;
            return hand.includes(move.clock) && isClock(move.clock) && fits(s, move.partner, move.clock); // TB-4
          case "beam":
            return hand.includes(move.card) && move.target !== seat && s.hands[move.target] !== undefined;
          case "direction":
            return ["left", "right"].includes(move.to);
          case "name_hour":
            return HOURS.includes(move.hour);
          case "draw":
            return hand.length < 6;
          case "place":
            return hand.includes(move.card) && (isClock(move.card) || move.card === "joker") && rightHour();
          default:
            return true;
        }
      },
      make(s, seat, name, move, chance) {
        try {
          make(s, seat, name, move, chance);
          return s;
        } catch (end) {
          if (!(end instanceof RoundEnds)) throw end;
          return endRound(s, chance);
        }
      },
      owes,
      fallback(s, seat) {
        const hand = s.hands[seat];
        switch (s.phase) {
          case "hide": {
            const [card] = hideable(s, seat);
            return card ? { hide: { place: s.piles.findIndex((pile) => pile.length), card } } : { draw_instead: {} };
          }
          case "open": {
            const card = hand.find(openable);
            return { open: card === "joker" ? { card, hour: 1 } : { card } };
          }
          case "beam":
            return { beam: { card: hand[0], target: left(s, seat) } };
          case "vortex":
            return { direction: { to: "left" } };
          case "joker_hour":
            return { name_hour: { hour: 12 } };
          case "draw":
            return hand.length < 6 ? { draw: {} } : { end_turn: {} };
          case "challenge":
            return { accept: {} };
          default:
            return { decline: {} };
        }
      },
      asked(s, seat) {
        if (seat === s.turn || seat === actor(s)) return [s.phase, s.round, s.turn];
        return s.phase === "challenge" ? ["window", s.round, s.turn] : null;
      },
      table: (s) => ({
        ...{ round: s.round, dealer: s.dealer, turn: s.turn, phase: s.phase },
        ...{ piles: s.piles.map((cards) => ({ cards })), draw_pile: s.pile.length },
        ...{ hand_sizes: sizes(s.hands), totals: s.totals, skips: s.skips, removed: s.removed },
        answered: where(s.answers.length, (seat) => s.answers[seat] !== null),
        ...{ revealed: s.revealed, last_round: s.last },
      }),
      own: (s, seat) => ({ hand: s.hands[seat], laid: s.laid[seat], answer: s.answers[seat] }),
      hidden: (s) => ({ draw_pile: s.pile, play: s.play }),
    };
  })();

  const GAMES = {
    "timos_twist/1": timosTwist,
    "toms_time_bluff/1": tomsTimeBluff,
    "bombenziehen/1": bombenziehen,
    "bluffing_billionaires/1": bluffingBillionaires,
    "clever_gedreht/1": cleverGedreht,
  };

  // --- faults, options and game codes --------------------------------------------------------------------------------

  /** What is wrong, in the words of `croupier audit`. */
  class Fault extends Error {
    constructor(field, detail) {
      super(detail);
      this.field = field;
    }
  }

  function ensure(truth_, field, detail) {
    if (!truth_) throw new Fault(field, detail);
  }

  /** All options of a game, in order. Throws Fault for one that it has not, or not like this. */
  function completed(game, given, seats) {
    const options = {};
    for (const name of Object.keys(given)) ensure(game.options[name], "options", `bad option: ${short(name)}`);
    for (const [name, option] of Object.entries(game.options)) {
      const standard = option.standard === "seats" ? seats : option.standard;
      const value = name in given ? given[name] : standard;
      const right =
        option.type === "int"
          ? Number.isSafeInteger(value) && value >= option.min && value <= option.max
          : option.words.includes(value);
      ensure(right, "options", `bad option: ${name}`);
      options[name] = value;
    }
    return options;
  }

  const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const KINDS = ["open", "reckless", "clever", "ruthless"];

  function tagOf(rules) {
    const digest = sha256(utf8.encode("croupier/code:" + rules));
    const number = new DataView(digest.buffer).getUint32(0);
    return each(3, (i) => LETTERS[(number >>> (5 * i)) & 31]).join("");
  }

  /** The last letter of a code: the others as a polynomial over the field with 32 elements, at x. */
  function checkOf(letters) {
    const timesX = (element) => ((element << 1) ^ (element & 16 ? 0b100101 : 0)) & 31;
    return LETTERS[timesX([...letters].reduce((rest, letter) => timesX(rest) ^ LETTERS.indexOf(letter), 0))];
  }

  /** What a game code says: kinds of the seats, policy of the computers, all options, seed. Throws Fault. */
  function readCode(code, rules) {
    const game = GAMES[rules];
    const letters = code.replaceAll("-", "");
    ensure([...letters].every((letter) => LETTERS.includes(letter)), "code", "a letter that is in no game code");
    ensure(letters.length > 4 && letters.length <= 80, "code", "a game code has more letters, or fewer");
    ensure(checkOf(letters.slice(0, -1)) === letters.slice(-1), "code", "the game code is mistyped");
    ensure(letters.slice(0, 3) === tagOf(rules), "code", "the game code says other rules");
    let number = [...letters.slice(3, -1)].reduceRight((n, letter) => n * 32n + BigInt(LETTERS.indexOf(letter)), 0n);
    const digit = (base) => {
      const rest = Number(number % BigInt(base));
      number /= BigInt(base);
      return rest;
    };
    const [least, most] = game.seats;
    const kinds = each(least + digit(most - least + 1), () => KINDS[digit(KINDS.length)]);
    const policy = kinds.every((kind) => kind === "open") ? 0 : digit(32);
    const options = {};
    if (digit(2)) {
      for (const [name, option] of Object.entries(game.options)) {
        const words = option.words || each(option.max - option.min + 1, (i) => option.min + i);
        options[name] = words[digit(words.length)];
      }
    }
    ensure(number < 1n << 40n, "code", "the game code says more than a game code can");
    const all = completed(game, options, kinds.length);
    const standard = JSON.stringify(completed(game, {}, kinds.length)) === JSON.stringify(all);
    const spelled = [letters.slice(0, 3), ...letters.slice(3).match(/.{1,4}/g)].join("-") === code;
    const shortest = letters.at(-2) !== "0" && !(standard && Object.keys(options).length);
    ensure(spelled && shortest, "code", "that is not the one right spelling of a game code");
    return { kinds, policy, options: all, seed: bigEndian(number, 5) };
  }

  // --- lines ---------------------------------------------------------------------------------------------------------

  const short = (text) => (text.length <= 400 ? text : `${text.slice(0, 400)}... (${text.length} characters)`);

  const PLAN = { kind: "string", thinking: "number?", policy: "number?" };
  const BOT = { policy: "string", version: "number", seen: "number" };
  const RESULT = { scores: ["number"], winners: ["number"] };
  const BODIES = {
    created: {
      ...{ match: "string", rules: "string", options: "object", seats: [PLAN], clock: "number?", private: "boolean" },
      ...{ commitment: "string", request: "string", code: "string?", "absent?": PLAN },
    },
    joined: { seat: "number", name: "string", client_seed: "string", request: "string" },
    left: { seat: "number", tenure: "number", by: "string" },
    started: { seats: ["number"] },
    moved: { seat: "number", prompt: "number", move: "object", by: "string", "bot?": BOT },
    finished: { result: RESULT, seed: "string" },
    aborted: { reason: "string", seed: "string" },
  };
  const BY = { left: ["player", "host"], moved: ["player", "clock", "bot"] };

  /** The value in the one right shape: the fields of `shape`, in its order. Throws Fault. */
  function shaped(value, shape, name) {
    if (Array.isArray(shape)) {
      ensure(Array.isArray(value), "line", `\`${name}\` is no list`);
      return value.map((item) => shaped(item, shape[0], name));
    }
    if (typeof shape === "string") {
      let right = typeof value === shape;
      if (shape === "object") right = right && value !== null && !Array.isArray(value);
      if (shape === "number") right = Number.isSafeInteger(value);
      if (shape === "string") right = right && !/\p{Surrogate}/u.test(value);
      ensure(right, "line", `\`${name}\` is no ${shape}`);
      return value;
    }
    ensure(value !== null && typeof value === "object" && !Array.isArray(value), "line", `\`${name}\` is no object`);
    const fields = {};
    for (const [key, kind] of Object.entries(shape)) {
      const optional = key.endsWith("?") || (typeof kind === "string" && kind.endsWith("?"));
      const field = key.replace("?", "");
      if (optional && !Object.hasOwn(value, field)) continue;
      ensure(Object.hasOwn(value, field), "line", `the entry has no \`${field}\``);
      fields[field] = shaped(value[field], typeof kind === "string" ? kind.replace("?", "") : kind, field);
    }
    return fields;
  }

  /** The entry in a line: its fields in order; `text` is the line. Throws Fault; `kind` tells what it says it is. */
  function readLine(bytes) {
    let text;
    let value;
    try {
      text = strictUtf8.decode(bytes);
      value = JSON.parse(text);
    } catch (error) {
      throw new Fault("line", `no JSON: ${error.message}`);
    }
    try {
      const kind = value === null || value === undefined ? undefined : value.kind;
      ensure(typeof kind === "string" && Object.hasOwn(BODIES, kind), "line", "the entry is of no kind");
      const shape = { v: "number", at: "number", kind: "string", ...BODIES[kind], state: "string", prev: "string" };
      const entry = shaped(value, shape, "entry");
      if (BY[kind]) ensure(BY[kind].includes(entry.by), "line", "`by` says nobody");
      return { ...entry, text };
    } catch (error) {
      if (value !== null && typeof value === "object" && typeof value.kind === "string") error.kind = value.kind;
      throw error;
    }
  }

  /** The one name of a move, and its fields in order. Throws Fault. */
  function readMove(game, object) {
    const names = Object.keys(object);
    ensure(names.length === 1, "legality", `a move has exactly one name, this one has ${names.length}`);
    const [name] = names;
    const fields = object[name];
    const shape = Object.hasOwn(game.moves, name) ? game.moves[name] : null;
    ensure(shape, "legality", `there is no move \`${short(name)}\``);
    try {
      const move = shaped(fields, shape, name);
      ensure(Object.keys(fields).every((field) => field in shape), "legality", `a surplus field in \`${name}\``);
      return { name, move };
    } catch (error) {
      throw error instanceof Fault ? new Fault("legality", error.message) : error;
    }
  }

  function splitLines(bytes) {
    const lines = [];
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    if (start < bytes.length) lines.push(bytes.subarray(start));
    return lines;
  }

  /** The server seed that the end reveals, looked for from behind; null if none does. */
  function revealedBy(lines) {
    for (const line of lines.slice().reverse()) {
      try {
        const entry = readLine(line);
        if (isEnd(entry)) return fromHex(entry.seed);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
      }
    }
    return null;
  }

  const isEnd = (entry) => entry.kind === "finished" || entry.kind === "aborted";

  // --- the match, entry by entry -------------------------------------------------------------------------------------

  const NO_END = "the journal stops before the end that reveals the seed, or its match is still running";
  const NO_HASH = "0".repeat(64);
  const HASH = /^[0-9a-f]{64}$/;

  const emptySeat = (kind) => ({ kind, name: "", clientSeed: new Uint8Array(), left: false });

  class Match {
    constructor(seed) {
      Object.assign(this, { seed, version: -1, at: 0, head: NO_HASH, status: "lobby", reason: null, created: null });
      Object.assign(this, { game: null, options: null, codeSeed: null, seats: [], players: [], requests: new Set() });
      Object.assign(this, { state: null, key: null, prompts: {}, asked: {}, due: null, draws: [], deals: [] });
      Object.assign(this, { moves: 0, computerMoves: 0 });
    }

    get over() {
      return this.status === "finished" || this.status === "aborted";
    }

    /** BLAKE2b-256 of `[table,[own of seat 0,...],hidden]`. */
    digest() {
      const { game, state } = this;
      const view = state
        ? [game.table(state), this.players.map((_, i) => game.own(state, i)), game.hidden(state)]
        : [null, [], null];
      return toHex(blake2b256(utf8.encode(JSON.stringify(view))));
    }

    /** Fold one line. Throws Fault for the first thing that is not as it has to be; then the match is done with. */
    replay(bytes) {
      const { text, ...entry } = readLine(bytes);
      const version = this.version + 1;
      this.follow(entry, version);
      ensure(!this.over, "order", "the match is over, and nothing comes after its end");
      const awaited = !this.due || this.due === entry.kind;
      ensure(awaited, "order", `entry ${this.version} has to be followed by \`${this.due}\``);
      this[`on_${entry.kind}`](entry, version);
      this.due = this.dueAfter(entry);
      const digest = this.digest();
      const field = entry.kind === "started" ? "deal" : "digest";
      ensure(entry.state === digest, field, `expected ${digest}, got ${short(entry.state)}`);
      ensure(JSON.stringify(entry) === text, "spelling", "the line is not the one right spelling of its entry");
      this.head = toHex(sha256(joined(fromHex(this.head), bytes)));
      this.version = version;
    }

    follow(entry, version) {
      const place = "an entry is missing, doubled or out of place";
      ensure(entry.v === version, "order", `${place}: expected ${version}, got ${entry.v}`);
      const before = version ? `entry ${version - 1} is not the one that this one was written after: ` : "";
      ensure(entry.prev === this.head, "chain", `${before}expected ${this.head}, got ${short(entry.prev)}`);
      ensure(entry.at >= this.at, "time", `goes back from ${this.at} to ${entry.at}`);
      this.at = entry.at;
    }

    /** The kind of entry that stands in the same commit behind this one, if any. */
    dueAfter({ kind }) {
      if (kind === "moved" && this.state.result) return "finished";
      const full = this.seats.every((seat) => seat.kind !== "open");
      if ((kind === "created" || kind === "joined") && full) return "started";
      const humans = this.players.map((seat) => this.seats[seat]).filter((seat) => seat.kind === "human");
      return kind === "left" && this.status === "running" && humans.every((seat) => seat.left) ? "aborted" : null;
    }

    on_created(entry, version) {
      ensure(version === 0, "order", "a match is created once");
      const game = Object.hasOwn(GAMES, entry.rules) ? GAMES[entry.rules] : null;
      ensure(game, "rules", `this verifier does not know the rules ${short(entry.rules)}`);
      const count = entry.seats.length;
      const [least, most] = game.seats;
      ensure(count >= least && count <= most, "seats", `${game.name} is for ${least} to ${most} seats, not ${count}`);
      this.options = completed(game, entry.options, count);
      const planned = entry.seats.every((plan) => plan.kind !== "human");
      ensure(planned, "seats", "a seat is planned as open or for a computer");
      const inOrder = JSON.stringify(this.options) === JSON.stringify(entry.options);
      ensure(inOrder, "options", "not all options, or not in their order");
      for (const plan of entry.absent ? [...entry.seats, entry.absent] : entry.seats) {
        const named = plan.kind === "open" || plan.policy !== undefined;
        ensure(named, "seats", "a computer player is named with its policy");
      }
      if (entry.code !== undefined) this.codeSeed = this.dealtFrom(entry);
      Object.assign(this, { created: entry, game });
      this.seats = entry.seats.map((plan) => emptySeat(plan.kind));
      if (this.seed) {
        const promised = toHex(commitment(this.seed, entry.match, entry.rules)) === entry.commitment;
        ensure(promised, "commitment", "the seed revealed at the end is not the one promised here");
      }
    }

    /** The seed of the match's game code, which has to say the same match. */
    dealtFrom(entry) {
      const code = readCode(entry.code, entry.rules);
      const kinds = entry.seats.map((plan) => plan.kind);
      ensure(`${code.kinds}` === `${kinds}`, "code", "the game code says other seats");
      const same = JSON.stringify(code.options) === JSON.stringify(entry.options);
      ensure(same, "code", "the game code says other options");
      const computers = entry.seats.filter((plan) => plan.kind !== "open");
      const policies = computers.every((plan) => plan.policy === code.policy);
      ensure(policies, "code", `the game code says version ${code.policy} of the computer players`);
      return code.seed;
    }

    lobby() {
      ensure(this.created && this.status === "lobby", "order", "only the lobby can be changed like this");
    }

    on_joined(entry, version) {
      this.lobby();
      const open = this.seats[entry.seat] && this.seats[entry.seat].kind === "open";
      ensure(open, "seat", `seat ${entry.seat} is not open`);
      ensure(!this.requests.has(entry.request), "request", "the same request joined before");
      const clientSeed = fromHex(entry.client_seed);
      const hex = clientSeed && toHex(clientSeed) === entry.client_seed;
      ensure(hex, "client seeds", "is not lower-case hex");
      const named = [...entry.name].length <= 32 && !/\p{Cc}/u.test(entry.name);
      ensure(named, "name", "a name has at most 32 characters and no control characters");
      ensure(clientSeed.length <= 64, "client seeds", "a client seed has at most 64 bytes");
      const seat = { kind: "human", name: entry.name, tenure: version, clientSeed, left: false, timeouts: 0 };
      this.seats[entry.seat] = seat;
      this.requests.add(entry.request);
    }

    on_left(entry) {
      const seat = this.seats[entry.seat];
      ensure(seat, "seat", `there is no seat ${entry.seat}`);
      const holds = seat.kind === "human" && seat.tenure === entry.tenure && !seat.left;
      ensure(holds, "tenure", `seat ${entry.seat} is not held since ${entry.tenure}`);
      if (this.status === "lobby") {
        this.seats[entry.seat] = emptySeat("open");
      } else {
        ensure(entry.by === "player", "by", "the host ends tenures in the lobby only");
        seat.left = true;
      }
    }

    on_started(entry, version) {
      this.lobby();
      const taken = this.seats.flatMap((seat, number) => (seat.kind === "open" ? [] : [number]));
      const playable = taken.length >= this.game.seats[0] && taken.length <= this.game.seats[1];
      ensure(`${entry.seats}` === `${taken}` && playable, "seats", `the seats taken are [${taken}]`);
      ensure(this.seed, "seed", "there is no server seed to deal from"); // "seed" is no verdict: see withoutSeed
      const { match, rules } = this.created;
      const clientSeeds = taken.map((seat) => this.seats[seat].clientSeed);
      this.key = this.codeSeed ? codeKey(this.codeSeed, rules) : matchKey(this.seed, match, rules, clientSeeds);
      Object.assign(this, { players: taken, status: "running" });
      this.state = this.game.deal(this.options, taken.length, this.chance(version));
      for (const [i, seat] of taken.entries()) {
        this.prompts[seat] = version;
        this.asked[seat] = this.askedNow(i);
      }
    }

    chance(version) {
      return new Stream(this.key, "game", version, this.draws, this.deals);
    }

    askedNow(i) {
      return this.state.result ? "null" : JSON.stringify(this.game.asked(this.state, i));
    }

    on_moved(entry, version) {
      const { game, state } = this;
      const i = this.players.indexOf(entry.seat);
      ensure(this.status === "running" && i >= 0, "seat", `seat ${entry.seat} cannot move now`);
      const prompt = this.prompts[entry.seat];
      ensure(entry.prompt === prompt, "prompt", `expected ${prompt}, got ${entry.prompt}`);
      const { name, move } = readMove(game, entry.move);
      entry.move = { [name]: move };
      const legal = !state.result && game.legal(state, i, name, move);
      ensure(legal, "legality", `${short(JSON.stringify(entry.move))} is not legal now`);
      this.checkMover(entry, i);
      this.state = game.make(state, i, name, move, this.chance(version));
      for (const [j, seat] of this.players.entries()) {
        const asked = this.askedNow(j);
        if (seat === entry.seat || (asked !== "null" && asked !== this.asked[seat])) this.prompts[seat] = version;
        this.asked[seat] = asked;
      }
      const holder = this.seats[entry.seat];
      if (holder.kind === "human") holder.timeouts = entry.by === "player" ? 0 : holder.timeouts + 1;
      this.moves += 1;
      if (entry.by === "bot") this.computerMoves += 1;
    }

    /** Whether the one who made the move may have; what a computer player decides is left to the full audit. */
    checkMover(entry, i) {
      const holder = this.seats[entry.seat];
      const human = holder.kind === "human";
      const present = human && !holder.left && holder.timeouts < 2;
      const computer = !human || (this.created.absent && !present);
      ensure((entry.by === "bot") === (entry.bot !== undefined), "computer move", "stands exactly with moves by bot");
      if (entry.by === "player") ensure(human && !holder.left, "by", `no player holds seat ${entry.seat}`);
      if (entry.by === "clock") {
        ensure(!computer, "by", `a computer player decides for seat ${entry.seat}`);
        ensure(this.game.owes(this.state, i), "clock", `seat ${entry.seat} owes no move`);
        const owed = JSON.stringify(this.game.fallback(this.state, i));
        ensure(JSON.stringify(entry.move) === owed, "clock", `the default move is ${owed}`);
      }
      if (entry.by === "bot") {
        ensure(!present, "by", `seat ${entry.seat} is held by a human who is present`);
        ensure(computer, "computer move", `no computer player decides for seat ${entry.seat}`);
      }
    }

    on_finished(entry) {
      const result = this.status === "running" ? this.state.result : null;
      const same = result && JSON.stringify(result) === JSON.stringify(entry.result);
      ensure(same, "result", `expected ${JSON.stringify(result)}, got ${short(JSON.stringify(entry.result))}`);
      this.reveal(entry);
      this.status = "finished";
    }

    on_aborted(entry) {
      ensure(this.created, "order", "a match begins with `created`");
      this.reveal(entry);
      Object.assign(this, { status: "aborted", reason: entry.reason });
    }

    reveal(entry) {
      const seed = fromHex(entry.seed);
      ensure(seed && toHex(seed) === entry.seed, "reveal", "the seed is not lower-case hex");
      const { match, rules, commitment: promised } = this.created;
      const kept = toHex(commitment(seed, match, rules)) === promised;
      ensure(kept, "reveal", "the seed does not match the commitment");
    }
  }

  // --- the verdict ---------------------------------------------------------------------------------------------------

  const fault = (version, field, detail) => ({ version, field, detail: short(detail) });

  function firstDifference(match, lines) {
    if (!lines.length) return fault(0, "tail", "the journal has no entries");
    for (const [version, bytes] of lines.entries()) {
      try {
        match.replay(bytes);
      } catch (error) {
        if (!(error instanceof Fault)) return fault(version, "rules failed", `${error.name}: ${error.message}`);
        if (error.field === "seed") return withoutSeed(match, lines, version);
        return named(match, lines, version, error);
      }
    }
    return match.over ? null : fault(lines.length, "tail", NO_END);
  }

  /** A fault where it stands; a last line that is cut is the tail's, what stands behind the end is one too many. */
  function named(match, lines, version, error) {
    if (error.field === "line" && error.kind === undefined) {
      if (match.over) return fault(version, "order", "the match is over, and nothing comes after its end");
      const last = version > 0 && version === lines.length - 1;
      if (last) return fault(version, "tail", `the last line is cut short: ${error.message}`);
    }
    const end = error.kind === "finished" || error.kind === "aborted";
    if (error.field === "line" && end && error.message.includes("`seed`")) {
      return fault(version, "reveal", "the end does not reveal the seed");
    }
    return fault(version, error.field, error.message);
  }

  /** What can be said of entries that cannot be dealt again: the first fault of the chain, else the missing seed. */
  function withoutSeed(match, lines, started) {
    for (let version = started; version < lines.length; version++) {
      try {
        const entry = readLine(lines[version]);
        if (version > started) match.follow(entry, version);
        if (isEnd(entry)) return fault(version, "reveal", "the seed is not lower-case hex");
        match.head = toHex(sha256(joined(fromHex(match.head), lines[version])));
      } catch (error) {
        if (error instanceof Fault) return named(match, lines, version, error);
        throw error;
      }
    }
    return fault(lines.length, "tail", NO_END);
  }

  /** The bytes of an anchor in hex. Throws RangeError. */
  function anchorBytes(text, name, size) {
    const bytes = fromHex(String(text).trim());
    if (!bytes || bytes.length !== size) throw new RangeError(`${name} is ${2 * size} hex digits`);
    return bytes;
  }

  /** What the last hash and its signature add to a verdict. Throws RangeError for one that is no hex of its size. */
  function anchored(verdict, { hash, signature, key } = {}) {
    const expected = hash ? toHex(anchorBytes(hash, "a last hash", 32)) : null;
    const signed = signature ? anchorBytes(signature, "a signature", 64) : null;
    const operator = key ? anchorBytes(key, "a public key", 32) : null;
    if (verdict.difference) return verdict;
    const last = Math.max(0, verdict.entries - 1);
    if (expected && expected !== verdict.head) {
      const detail = `expected ${expected}, got ${verdict.head}: not the journal that was anchored, or not all of it`;
      return { ...verdict, outcome: "different", difference: fault(last, "last hash", detail) };
    }
    if (signed && operator && !ed25519(operator, fromHex(verdict.head), signed)) {
      const detail = `the signature is not this key's on the last hash ${verdict.head}`;
      return { ...verdict, outcome: "different", difference: fault(last, "signature", detail) };
    }
    const holds = expected || (signed && operator);
    return { ...verdict, outcome: holds ? "verified" : "consistent", signed: Boolean(signed && operator) };
  }

  /**
   * The verdict on a journal: a string or the bytes of a `.jsonl` file. Throws only for an anchor of the wrong form.
   *
   * `hash` is the last hash, `signature` the operator's on it and `key` his public key, all in hex and all optional.
   * Returns `outcome` ("verified", "consistent" or "different"), `difference` (the first entry that differs: `version`,
   * `field`, `detail`; or null), `match`, `rules`, `status`, `entries`, `moves`, `head` (hash of the last entry that
   * holds), `seed`, `commitment` and `key` (hex or null), `seats` (with `plays_as`), `draws` (every shuffle and pick)
   * and `deals` (every round's).
   */
  function verify(journal, anchors = {}) {
    const lines = splitLines(typeof journal === "string" ? utf8.encode(journal) : journal);
    const match = new Match(revealedBy(lines));
    const difference = firstDifference(match, lines);
    const { created } = match;
    const plays = (seat) => (match.players.includes(seat) ? match.players.indexOf(seat) : null);
    const verdict = {
      outcome: difference ? "different" : "consistent",
      ...{ difference, match: created ? created.match : "", rules: created ? created.rules : "", status: match.status },
      ...{ reason: match.reason, entries: lines.length, moves: match.moves, computerMoves: match.computerMoves },
      ...{ head: match.head, signed: false, seed: match.seed && toHex(match.seed) },
      ...{ commitment: created && created.commitment, key: match.key && toHex(match.key) },
      code: (created && created.code) || null,
      options: match.options,
      seats: match.seats.map((seat, number) => ({
        ...{ seat: number, kind: seat.kind, name: seat.name, client_seed: toHex(seat.clientSeed) },
        plays_as: plays(number),
      })),
      ...{ result: match.state && match.state.result, draws: match.draws, deals: match.deals },
    };
    return anchored(verdict, anchors);
  }

  // --- the command line ----------------------------------------------------------------------------------------------

  const HELP = `node verify.js [--key HEX|FILE] [--deal] [--json] FILE...

Checks journals of Croupier: chain, commitment, key, every shuffle and pick, deals, moves, digests, result.

  FILE        a journal, NAME.jsonl, or a folder of them. Beside each may lie NAME.hash (its last
              hash, 64 hex digits) and NAME.sig (the operator's signature on it, 128 hex digits);
              both are used.
  --key       the operator's public key (64 hex digits), or a file that holds it
  --deal      print what was dealt, round by round
  --json      print the verdicts as JSON

verified    without fault, and the last hash is the one given or signed
consistent  without fault; whoever makes a whole journal anew is not seen without its last hash
different   the first entry that differs, and in what

Exit code: 0 nothing differs, 1 something differs, 2 the command was asked wrongly.
`;

  /** Run the command line; returns the exit code. */
  function main(args, fs) {
    const out = (text) => fs.writeSync(1, text + "\n");
    const usage = (text) => {
      fs.writeSync(2, `verify: ${text}\n`);
      return 2;
    };
    const files = [];
    const flags = new Set();
    let key = null;
    for (let i = 0; i < args.length; i++) {
      if (args[i] === "--help" || args[i] === "-h") return out(HELP.trimEnd()) && 0;
      if (args[i] === "--key") {
        const given = args[++i] || "";
        key = fs.existsSync(given) ? fs.readFileSync(given, "ascii").trim() : given;
        if (!/^[0-9a-f]{64}$/i.test(key)) return usage("--key: a public key is 64 hex digits, or a file with them");
      } else if (args[i] === "--deal" || args[i] === "--json") flags.add(args[i]);
      else if (args[i].startsWith("-")) return usage(`there is no option ${args[i]}; --help tells what there is`);
      else files.push(...journalsAt(fs, args[i]));
    }
    if (!files.length) return usage("name a journal, or a folder with journals; --help tells more");
    const verdicts = files.map((file) => ({ source: file, ...verdictOnFile(fs, file, key) }));
    if (flags.has("--json")) out(JSON.stringify(verdicts, null, 2));
    else for (const verdict of verdicts) report(verdict, out, flags.has("--deal"));
    return verdicts.some((verdict) => verdict.difference) ? 1 : 0;
  }

  function journalsAt(fs, path) {
    if (!fs.existsSync(path) || !fs.statSync(path).isDirectory()) return [path];
    const names = fs.readdirSync(path).filter((name) => name.endsWith(".jsonl"));
    return names.sort().map((name) => `${path.replace(/\/+$/, "")}/${name}`);
  }

  function verdictOnFile(fs, file, key) {
    const beside = (suffix) => {
      const path = file.replace(/\.[^./\\]*$/, "") + suffix;
      return path !== file && fs.existsSync(path) ? fs.readFileSync(path, "latin1").trim() || "empty" : null;
    };
    try {
      return verify(fs.readFileSync(file), { hash: beside(".hash"), signature: beside(".sig"), key });
    } catch (error) {
      const nothing = { match: "", rules: "", status: "", entries: 0, moves: 0, head: "" };
      return { outcome: "different", ...nothing, difference: fault(0, "file", error.message) };
    }
  }

  const printable = (text) =>
    text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);

  function report(verdict, out, deal) {
    const { difference: found, draws = [], deals = [] } = verdict;
    const what = `${verdict.rules}, ${verdict.status}, ${verdict.entries} entries, ${verdict.moves} moves`;
    const shuffles = draws.filter((draw) => draw.call === "shuffle").length;
    const chance = `${deals.length} deals, ${shuffles} shuffles and ${draws.length - shuffles} picks computed again`;
    out(printable(`${verdict.outcome.padEnd(10)}  ${verdict.source}${found ? "" : `  (${what}; ${chance})`}`));
    if (found) out(printable(`            entry ${found.version}, ${found.field}: ${found.detail}`));
    for (const each_ of deal ? deals : []) {
      out(`            round ${each_.round}, dealt at entry ${each_.version}`);
      for (const [i, hand] of each_.hands.entries()) out(`              player ${i}: ${hand.cards.join(" ")}`);
      for (const part of ["turned", "aside", "pile"]) {
        if (each_[part] && each_[part].length) out(`              ${part}: ${each_[part].join(" ")}`);
      }
    }
  }

  return {
    ...{ verify, main, Match, GAMES, Stream, commitment, matchKey, codeKey, botKey, readCode, ed25519 },
    ...{ sha256, sha512, hmacSha256, blake2b256, toHex, fromHex },
  };
});
