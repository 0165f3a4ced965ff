"""Fields of other engines that say how an answer is computed or told, and the values that change nothing."""
