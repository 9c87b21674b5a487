// A Colyseus room for the game of cards.js: the state is patched after every move, a hand only to whoever holds it.
"use strict";
const { Server, Room } = require("@colyseus/core");
const { WebSocketTransport } = require("@colyseus/ws-transport");
const { schema, t, StateView } = require("@colyseus/schema");
const cards = require("./cards");

const SEATS = 4;
const CHURN = process.env.CHURN === "1";

const Player = schema({ count: t.uint8(), hand: t.array("uint8").view() }, "Player");
const Table = schema({
  players: t.array(Player), dealt: t.boolean(), top: t.uint8(), colour: t.uint8(), way: t.int8(), turn: t.uint8(),
  moves: t.uint32(), winner: t.int8(),
}, "Table");

class CardsRoom extends Room {
  onCreate() {
    this.maxClients = SEATS;
    this.patchRate = null;
    this.state = Object.assign(new Table(), { dealt: false, top: 0, colour: 0, way: 1, turn: 0, moves: 0, winner: -1 });
    this.onMessage("play", (client, [card, colour]) => {
      const drawn = cards.play(this.game, client.seat, card, colour);
      if (drawn === null) return client.leave();
      if (this.game.winner !== null && !CHURN) this.deal();
      else {
        const player = this.state.players[client.seat];
        player.hand.splice(player.hand.indexOf(card), 1);
        this.show(drawn);
      }
      this.broadcastPatch();
    });
    this.onMessage("draw", (client) => {
      const drawn = cards.draw(this.game, client.seat);
      if (drawn === null) return client.leave();
      this.show(drawn);
      this.broadcastPatch();
    });
  }

  onJoin(client) {
    const player = Object.assign(new Player(), { count: 0 });
    client.seat = this.state.players.length;
    this.state.players.push(player);
    client.view = new StateView();
    client.view.add(player);
    if (this.state.players.length === SEATS) this.deal();
    setTimeout(() => this.broadcastPatch(), 0);
  }

  deal() {
    this.game = cards.deal(SEATS, this.game?.moves);
    this.state.players.forEach((player, seat) => {
      player.hand.clear();
      player.hand.push(...this.game.players[seat].hand);
    });
    this.state.dealt = true;
    this.show([]);
  }

  show(drawn) {
    const { top, colour, way, turn, moves, winner, counts } = this.game;
    for (const [seat, taken] of drawn) this.state.players[seat].hand.push(...taken);
    this.state.players.forEach((player, seat) => (player.count = counts[seat]));
    Object.assign(this.state, { top, colour, way, turn, moves, winner: winner ?? -1 });
  }
}

const server = new Server({ transport: new WebSocketTransport(), greet: false });
server.define("cards", CardsRoom);
server.listen(Number(process.env.PORT), "127.0.0.1").then(() => console.log("ready"));
