"""The event-driven engine: a floor of servers, a line of jobs, and policies that say who starts."""
