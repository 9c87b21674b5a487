// A game in which cards match by colour or rank, as small as the load shape needs, for servers that run JavaScript.
//
// 54 cards: 0 to 51 are four colours of thirteen ranks (0 to 9, skip, reverse, take two), 52 is wild, 53 wild and take
// four. Seven cards a hand. A turn plays a card that fits, or draws one; whoever has none left wins the round.
// `secret` and the hands of others are not for a player's eyes; all else is public.
"use strict";

const RANKS = 13, WILD = 52, WILD_FOUR = 53, HAND = 7;
const SKIP = 10, REVERSE = 11, TAKE_TWO = 12;

function shuffled(cards) {
  const all = [...cards];
  for (let last = all.length; last > 1; ) {
    const other = Math.floor(Math.random() * last--);
    const held = all[last];
    all[last] = all[other];
    all[other] = held;
  }
  return all;
}

const colourOf = (card) => Math.floor(card / RANKS);
const isWild = (card) => card >= WILD;

function fits(card, table) {
  if (isWild(card) || colourOf(card) === table.colour) return true;
  return !isWild(table.top) && card % RANKS === table.top % RANKS;
}

function deal(seats, moves = 0, shuffle = shuffled) {
  const deck = shuffle([...Array(WILD_FOUR + 1).keys()]);
  const players = {};
  for (let seat = 0; seat < seats; seat++) players[seat] = { hand: deck.splice(0, HAND) };
  const first = deck.findIndex((card) => !isWild(card) && card % RANKS < SKIP);
  const [top] = deck.splice(first, 1);
  const counts = Array(seats).fill(HAND);
  return { secret: { deck, played: [] }, players, counts, top, colour: colourOf(top), way: 1, turn: 0, moves, winner: null };
}

// Returns what was drawn.
function take(table, seat, count, shuffle) {
  const { secret } = table;
  const drawn = [];
  while (drawn.length < count) {
    if (!secret.deck.length) {
      if (!secret.played.length) break;
      secret.deck = shuffle(secret.played);
      secret.played = [];
    }
    drawn.push(secret.deck.pop());
  }
  table.players[seat].hand.push(...drawn);
  table.counts[seat] += drawn.length;
  return drawn;
}

const after = (table, steps) => {
  const seats = table.counts.length;
  return (table.turn + steps * table.way + 2 * seats) % seats;
};

// Changes the table and returns who drew what: [[seat, cards], ...]; null if the move is not legal.
function play(table, seat, card, colour, shuffle = shuffled) {
  const { hand } = table.players[seat];
  const place = hand.indexOf(card);
  if (seat !== table.turn || table.winner !== null || place < 0 || !fits(card, table)) return null;
  if (isWild(card) && !(colour >= 0 && colour < 4)) return null;
  hand.splice(place, 1);
  table.counts[seat]--;
  table.secret.played.push(table.top);
  table.top = card;
  table.colour = isWild(card) ? colour : colourOf(card);
  table.moves++;
  if (!hand.length) {
    table.winner = seat;
    return [];
  }
  const rank = isWild(card) ? -1 : card % RANKS;
  if (rank === REVERSE) table.way = -table.way;
  const victim = after(table, 1);
  const fine = card === WILD_FOUR ? 4 : rank === TAKE_TWO ? 2 : 0;
  const drawn = fine ? [[victim, take(table, victim, fine, shuffle)]] : [];
  table.turn = after(table, fine || rank === SKIP ? 2 : 1);
  return drawn;
}

// As `play`, for a draw.
function draw(table, seat, shuffle = shuffled) {
  if (seat !== table.turn || table.winner !== null) return null;
  const drawn = take(table, seat, 1, shuffle);
  table.moves++;
  table.turn = after(table, 1);
  return [[seat, drawn]];
}

// A random card that fits, as [card, colour]; null where only drawing is left. Looks at nothing that is secret.
function choose(hand, table) {
  const fitting = [...hand].filter((card) => fits(card, table));
  if (!fitting.length) return null;
  const card = fitting[Math.floor(Math.random() * fitting.length)];
  return [card, isWild(card) ? Math.floor(Math.random() * 4) : -1];
}

module.exports = { deal, play, draw, choose };
