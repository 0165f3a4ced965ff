"""The backend whose model runs in vLLM; its folders are the processes in which files run."""
