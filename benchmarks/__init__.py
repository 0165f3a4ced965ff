"""What `make bench` measures, beside peers, and the picture of the README."""
