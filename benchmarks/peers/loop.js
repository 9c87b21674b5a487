// The closed loop of the load shape: each table has one move in flight, and the next follows once all its players have
// received and decoded a view that includes it. A table has `open()`, which brings it to a dealt match, and `move()`,
// which makes one legal move and resolves to whether the match has ended with it.
"use strict";
const fs = require("fs");

const SEATS = 4, OPENED_TOGETHER = 8, TICKS_PER_S = 100, LAST_MOVES_MS = 3000;

function cpuSeconds(pid) {
  const text = fs.readFileSync(`/proc/${pid}/stat`, "ascii");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

async function main(makeTable) {
  const { MATCHES, WARM_UP, SECONDS, SERVER } = process.env;
  const tables = Array.from({ length: Number(MATCHES) }, makeTable);
  const unopened = [...tables];
  const opener = async () => {
    for (let table = unopened.pop(); table; table = unopened.pop()) await table.open();
  };
  await Promise.all(Array.from({ length: OPENED_TOGETHER }, opener));

  const times = [];
  let measuring = false, over = false, ended = 0;
  const players = tables.map(async (table) => {
    while (!over) {
      const began = performance.now();
      const last = await table.move();
      if (measuring) times.push(performance.now() - began);
      if (last) {
        if (measuring) ended++;
        await table.open();
      }
    }
  });
  Promise.all(players).catch((error) => {
    console.error(error);
    process.exit(1);
  });
  await sleep(WARM_UP);
  const before = { server: cpuSeconds(SERVER), client: process.cpuUsage(), at: performance.now() };
  measuring = true;
  await sleep(SECONDS);
  measuring = false;
  const seconds = (performance.now() - before.at) / 1000;
  const server = cpuSeconds(SERVER) - before.server;
  const { user, system } = process.cpuUsage(before.client);
  over = true;
  times.sort((a, b) => a - b);
  const moves = times.length;
  console.log(JSON.stringify({
    rate: moves / seconds, p50_ms: percentile(times, 0.5), p99_ms: percentile(times, 0.99),
    server_us: (server / moves) * 1e6, client_us: (user + system) / moves, ended,
  }));
  setTimeout(() => process.exit(0), LAST_MOVES_MS / 10);
}

module.exports = { main, SEATS };
