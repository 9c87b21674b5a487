// Reads one JSON value from stdin and answers it with one: many journals, or many moves, in one process.
"use strict";
const V = require("../../verify/verify.js");

const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));

/** For each version of the journal: whether each of the moves, [seat of the game, name, fields], is legal after it. */
function legality({ lines, seed, moves }) {
  const match = new V.Match(V.fromHex(seed));
  return lines.map((line) => {
    match.replay(new TextEncoder().encode(line));
    const running = match.status === "running" && !match.state.result;
    return moves.map(([seat, name, fields]) => running && match.game.legal(match.state, seat, name, fields));
  });
}

const answers = input.map((asked) =>
  asked.moves ? legality(asked) : V.verify(Buffer.from(asked.journal, "base64"), asked),
);
process.stdout.write(JSON.stringify(answers));
