"""Access: keys, what each may use, and fair turns between them. It knows no HTTP and no decoding."""
