"""The engine for models in Hugging Face format, by `transformers` on a processor."""
