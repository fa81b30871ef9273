"""The recurrence: a readable reference, and one folder a backend. Arrays and scalars only."""
