"""``croupier.v1``: generated from the ``.proto`` files beside it and never edited by hand."""
