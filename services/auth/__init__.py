"""The auth service: who may listen to which subject on NATS."""
