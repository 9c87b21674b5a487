"""How services get in where a NATS server of this test process is guarded; others let everybody in."""

from services.auth.server_config import ServerAccess
from services.bus import Access
from services.commands import ANSWERS_TO_MATCH

GUARD = ServerAccess.generate()
AS_ENGINE = Access(user="engine", password=GUARD.password("engine"))
AS_MATCH = Access(user="match", password=GUARD.password("match"), inbox=ANSWERS_TO_MATCH)
