"""The cluster as a live page: a server on this machine, worker processes that compute, and what the browser shows."""
