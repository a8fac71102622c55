"""What events and memories are: types, versions, upcasts, ids, sealing, codec, errors.

Pure: nothing here reads a clock, a file of state, the network or randomness. Everything else in
memstream imports from here; this folder imports from nowhere.
"""
