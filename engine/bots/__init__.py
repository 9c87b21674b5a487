"""The computer players, one file a game."""
