"""Searches of Raddle on the machines of a Ray cluster.

* `worker`: a `raddle worker` process and its protocol.
* `plan`: which parts of a search are left.
* `journal`: the results that are there, as files of `raddle merge`.
* `cluster`: the workers on a Ray cluster.
* `search`: the loop that gives units to workers.
* `cli`: the program `raddle-fleet`.
"""
