"""The modules that hold the rules, in the order in which a report lists them."""

import importlib

MODULES = (
    "producer_requests",
    "producer_copies",
    "producer_layout",
    "producer_types",
    "producer_life",
    "consumer_taking",
    "consumer_layout",
    "consumer_types",
    "consumer_broken",
    "consumer_requests",
    "consumer_life",
    "consumer_tables",
    "table_members",
    "table_tensors",
)


def load() -> None:
    """Imports them all; each registers its rules."""
    for name in MODULES:
        importlib.import_module(f"{__package__}.{name}")
