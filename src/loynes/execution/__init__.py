"""How any task is run: in chunks with progress, journalled, spread over workers."""
