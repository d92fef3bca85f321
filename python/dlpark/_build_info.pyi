IMAGE: bool
MISSING: tuple[tuple[str, str], ...]
