"""Configurations, (state, stack), each as one integer: the graph-structured stack, interned."""
