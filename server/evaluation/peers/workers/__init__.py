"""What runs in the peers' own environments: files run by their path, which import nothing of ours."""
