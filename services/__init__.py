"""What joins the engine to the world: gRPC, Redis and NATS."""
