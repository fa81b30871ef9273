"""Charts of results: records that a page's script and matplotlib draw alike."""
