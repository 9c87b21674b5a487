"""Generated messages and stubs of the croupier protocol; ``proto/`` is their import root."""
