// Four WebSocket connections a match to Colyseus; a new match is a new room, joined by all four.
"use strict";
const { Client } = require("@colyseus/sdk");
const { choose } = require("./cards");
const { main, SEATS } = require("./loop");

const client = new Client(`ws://127.0.0.1:${process.env.PORT}`);

class Table {
  listen(room, seat) {
    this.rooms[seat] = room;
    if (room.reconnection) room.reconnection.enabled = false;
    room.onMessage("*", () => {});
    room.onStateChange((state) => this.rooms[seat] === room && this.see(seat, state));
  }

  see(seat, state) {
    if (this.unseen.has(seat) && state.dealt && state.moves >= this.wanted && state.players[seat]?.hand?.length) {
      this.unseen.delete(seat);
    } else if (this.unseen.has(seat) && state.winner >= 0) {
      this.unseen.delete(seat);
    } else return;
    if (!this.unseen.size) this.allSaw();
  }

  everybodySees(moves) {
    this.wanted = moves;
    this.unseen = new Set(Array(SEATS).keys());
    return new Promise((resolve) => (this.allSaw = resolve));
  }

  async open() {
    const left = this.rooms ?? [];
    this.rooms = [];
    const seen = this.everybodySees(0);
    this.listen(await client.create("cards"), 0);
    for (let seat = 1; seat < SEATS; seat++) this.listen(await client.joinById(this.rooms[0].roomId), seat);
    for (let seat = 0; seat < SEATS; seat++) if (this.rooms[seat].state) this.see(seat, this.rooms[seat].state);
    await seen;
    left.forEach((room) => room.leave());
  }

  async move() {
    const { turn, moves } = this.rooms[0].state;
    const { state } = this.rooms[turn];
    const chosen = choose(state.players[turn].hand, state);
    const seen = this.everybodySees(moves + 1);
    if (chosen) this.rooms[turn].send("play", chosen);
    else this.rooms[turn].send("draw");
    await seen;
    if (state.players[(turn + 1) % SEATS].hand?.length) throw new Error("a view shows what it must not");
    return this.rooms[0].state.winner >= 0;
  }
}

main(() => new Table());
