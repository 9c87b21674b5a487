"""The rules of the games and the fold over a journal: pure, without I/O, clock or global randomness."""
