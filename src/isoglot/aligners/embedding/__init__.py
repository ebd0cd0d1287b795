"""Word aligners based on an encoder's hidden states."""
