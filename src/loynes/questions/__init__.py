"""One file a question: the record of what is asked, and how it is answered."""
