"""The configuration of a NATS server that lets in only whom it should: services by password, others by token.

`croupier up` and the tests generate theirs; `deploy/nats.conf` is the same for servers of one's own.
"""

import json
import secrets
from typing import Self

from services.auth.nats_jwt import CurveKey, Issuer, new_account_seed, new_curve_seed
from services.auth.rights import ACCOUNT, CALLOUT_ACCOUNT, SERVICES, Rights
from services.settings import PREFIX

CALLOUT_TIMEOUT_S = 2


class ServerAccess:
    """Passwords and keys of one NATS server and the services that use it."""

    def __init__(self, passwords: dict[str, str], issuer_seed: str, curve_seed: str) -> None:
        """Take a password for each of `SERVICES` and the two seeds."""
        self._passwords = passwords
        self._issuer_seed = issuer_seed
        self._curve_seed = curve_seed

    @classmethod
    def generate(cls) -> Self:
        """Return new ones."""
        return cls({name: secrets.token_hex(32) for name in SERVICES}, new_account_seed(), new_curve_seed())

    def password(self, service: str) -> str:
        """Return the password of one of `SERVICES`."""
        return self._passwords[service]

    def environment(self, service: str) -> dict[str, str]:
        """Return the settings with which a service gets in, as environment variables; holds secrets.

        None for a service that does not use NATS.
        """
        if service not in SERVICES:
            return {}
        settings = {"nats_user": service, "nats_password": self._passwords[service]}
        if service == "auth":
            settings |= {"nats_issuer_seed": self._issuer_seed, "nats_curve_seed": self._curve_seed}
        return {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}

    def config(self) -> str:
        """Return the lines for the server's configuration; holds secrets."""
        services = [self._user(name) for name in SERVICES if name != "auth"]
        return "\n".join(
            [
                "accounts {",
                f"  {ACCOUNT} {{ users: [\n    {','.join(services)}\n  ] }}",
                f"  {CALLOUT_ACCOUNT} {{ users: [\n    {self._user('auth')}\n  ] }}",
                "  SYS {}",
                "}",
                "system_account: SYS",
                "authorization {",
                f"  timeout: {CALLOUT_TIMEOUT_S}",
                "  auth_callout {",
                f'    issuer: "{Issuer(self._issuer_seed).public}"',
                f'    xkey: "{CurveKey(self._curve_seed).public}"',
                f"    account: {CALLOUT_ACCOUNT}",
                f"    auth_users: {json.dumps(list(SERVICES))}",
                "  }",
                "}",
            ]
        )

    def _user(self, name: str) -> str:
        permissions = _permissions(SERVICES[name])
        return f'{{ user: "{name}", password: "{self._passwords[name]}", permissions: {permissions} }}'


def _permissions(allowed: Rights) -> str:
    """Return rights in the server's language, which takes JSON; nothing listed would mean everything: it is denied."""
    permissions: dict[str, object] = {"subscribe": {"allow": list(allowed.subscribe)}}
    if allowed.answers:
        permissions["allow_responses"] = True  # and nothing else is published
    else:
        permissions["publish"] = {"allow": list(allowed.publish)} if allowed.publish else {"deny": [">"]}
    return json.dumps(permissions)
