"""How good is the gate? Simulated engines, sent through the rules that judge real ones."""
