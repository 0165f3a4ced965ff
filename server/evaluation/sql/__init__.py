"""SQL answers judged by what they return."""
