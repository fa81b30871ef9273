"""The answers themselves, one file a kind."""
