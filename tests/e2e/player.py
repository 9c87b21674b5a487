"""`python -m tests.e2e.player GRPC NATS GAME SEATS`: a client in a process of its own that plays a whole match.

Prints one JSON line: the match and the last view of every seat. The operator's key comes from CROUPIER_OPERATOR_KEY.
"""

import asyncio
import json
import os
import sys

from services.client import Client
from tests.e2e.table import begin


async def play(grpc: str, nats: str, game: str, seats: int) -> None:
    client = await Client.connect(grpc, nats, os.environ["CROUPIER_OPERATOR_KEY"])
    try:
        options = {"target": 100} if game == "timos_twist" else {}
        played = await (await begin(client, game, seats, options)).end()
        views = [seat.view for seat in played.seats]
        sys.stdout.write(json.dumps({"match": played.match, "views": views}) + "\n")
    finally:
        await client.close()


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
