// Four socket.io connections a match to boardgame.io's server; matches are made and joined through its lobby.
"use strict";
const { io } = require("socket.io-client");
const { choose } = require("./cards");
const { main, SEATS } = require("./loop");

const SERVER = `http://127.0.0.1:${process.env.PORT}`;

async function lobby(path, body) {
  const answer = await fetch(`${SERVER}/games/cards/${path}`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

class Table {
  constructor() {
    this.views = Array(SEATS);
    this.sockets = Array.from({ length: SEATS }, (_, seat) => this.connect(seat));
  }

  connect(seat) {
    const socket = io(`${SERVER}/cards`, { transports: ["websocket"], forceNew: true, reconnection: false });
    socket.on("sync", (match, { state }) => match === this.match && this.see(seat, state));
    socket.on("update", (match, state) => match === this.match && this.see(seat, state));
    return socket;
  }

  see(seat, state) {
    this.views[seat] = state;
    if (this.unseen.has(seat) && state._stateID >= this.wanted) {
      this.unseen.delete(seat);
      if (!this.unseen.size) this.allSaw();
    }
  }

  everybodySees(stateId) {
    this.wanted = stateId;
    this.unseen = new Set(Array(SEATS).keys());
    return new Promise((resolve) => (this.allSaw = resolve));
  }

  async open() {
    const { matchID } = await lobby("create", { numPlayers: SEATS });
    this.credentials = [];
    for (let seat = 0; seat < SEATS; seat++) {
      const joined = await lobby(`${matchID}/join`, { playerID: String(seat), playerName: `Player ${seat}` });
      this.credentials.push(joined.playerCredentials);
    }
    this.match = matchID;
    const synced = this.everybodySees(0);
    this.sockets.forEach((socket, seat) => socket.emit("sync", matchID, String(seat), this.credentials[seat], SEATS));
    await synced;
  }

  async move() {
    const seat = Number(this.views[0].ctx.currentPlayer), playerID = String(seat);
    const { G, _stateID } = this.views[seat];
    const chosen = choose(G.players[playerID].hand, G);
    const seen = this.everybodySees(_stateID + 1);
    const payload = { type: chosen ? "play" : "draw", args: chosen ?? [], playerID, credentials: this.credentials[seat] };
    this.sockets[seat].emit("update", { type: "MAKE_MOVE", payload }, _stateID, this.match, playerID);
    await seen;
    const { secret, players } = this.views[seat].G;
    if (secret || Object.keys(players).length > 1) throw new Error("a view shows what it must not");
    return this.views[0].ctx.gameover !== undefined;
  }
}

main(() => new Table());
