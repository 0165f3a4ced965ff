"""Tool calls judged by the rules of the Berkeley function-calling leaderboard."""
