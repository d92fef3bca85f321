"""Judges every library with a planted fault by the rule that must find it, and prints what came of it as JSON.

A process of its own, because a check about the end of a process ends its child like any program: by leaving main.
"""

import json
import sys
import time

import conformance_faults_consumer
import conformance_faults_producer
import conformance_faults_table

from dlpark.conformance import importing, rules, targets, worker

FAULTS = {
    **conformance_faults_producer.FAULTS,
    **conformance_faults_consumer.FAULTS,
    **conformance_faults_table.FAULTS,
}
SECONDS = 300


def main():
    importing.PATIENCE = 0.2  # nothing here is ended late by a library that works
    found = {}
    for rule in rules.all_rules():
        if rule.id in FAULTS:
            began = time.monotonic()
            target = targets.from_factory(FAULTS[rule.id].__name__, FAULTS[rule.id])
            found[rule.id] = {
                "fault": FAULTS[rule.id].__name__,
                **worker.contain(rule, target, SECONDS).as_dict(),
                "seconds": round(time.monotonic() - began, 2),
            }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
