// boardgame.io's own server, its matches in memory, with the game of cards.js.
"use strict";
const { Server } = require("boardgame.io/server");
const { INVALID_MOVE, PlayerView } = require("boardgame.io/core");
const cards = require("./cards");

const CHURN = process.env.CHURN === "1"; // a round is a match; else the winning move deals the next round

const Cards = {
  name: "cards",
  minPlayers: 2,
  maxPlayers: 4,
  setup: ({ ctx, random }) => cards.deal(ctx.numPlayers, 0, random.Shuffle),
  playerView: PlayerView.STRIP_SECRETS,
  turn: { minMoves: 1, maxMoves: 1, order: { first: () => 0, next: ({ G }) => G.turn } },
  moves: {
    play: {
      client: false,
      move: ({ G, playerID, random }, card, colour) => {
        if (cards.play(G, Number(playerID), card, colour, random.Shuffle) === null) return INVALID_MOVE;
        if (G.winner !== null && !CHURN) Object.assign(G, cards.deal(G.counts.length, G.moves, random.Shuffle));
      },
    },
    draw: {
      client: false,
      move: ({ G, playerID, random }) => {
        if (cards.draw(G, Number(playerID), random.Shuffle) === null) return INVALID_MOVE;
      },
    },
  },
  endIf: ({ G }) => (G.winner === null ? undefined : { winner: String(G.winner) }),
};

Server({ games: [Cards], origins: ["http://127.0.0.1"] })
  .run({ port: { port: Number(process.env.PORT), host: "127.0.0.1" } })
  .then(() => console.log("ready"));
