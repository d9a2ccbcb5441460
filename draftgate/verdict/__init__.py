"""Numbers in, verdict out: pure rules and statistics, no files, no pytest, no vLLM."""
