"""Judges how a library speaks DLPack from Python, as producer, as consumer, and by its C exchange table.

``python -m dlpark.conformance TARGET...`` is the way to use it; ``--help`` says the rest. The kit is pure Python over
ctypes: what it judges others by is in here, not in dlpark's own code.
"""
