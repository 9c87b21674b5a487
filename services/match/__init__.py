"""The match service: the gRPC front."""
