"""`croupier load`: players by the thousand, who measure what they see and check every journal at the end."""
