"""Other servers for games, measured beside croupier in one run. Nothing of them is in here."""
