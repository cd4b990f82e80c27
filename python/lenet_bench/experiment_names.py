"""The kinds and names of the experiments of `why`, which result files hold."""

from typing import Literal

Kind = Literal["call", "way", "after itself", "hand-over", "operations", "stage", "told"]

COUNTS = (1, 8, 64)
#: The call with one more core for its process; timed after all else.
TWO_CORES = "on two cores"
#: The call of the whole network as it was built for the experiments.
AS_BUILT = "as built for the experiments"
NOTHING = "nothing"
#: The one stage of a network whose layers are not known.
NETWORK = "network"
ENTERING = "entering"
HAND_OVER, DISPATCH = "hand-over", "dispatch"
#: What a call's time goes to in a lesson: the work itself, and what comes before and between.
PREPARING, HANDING_OVER, MATHEMATICS = "preparing", "handing over", "mathematics"
#: Each part of a call but the network's layers, and what it is in a lesson.
PARTS = {
    # from a user's array to what the library computes on
    **dict.fromkeys(("checks", "arrays", "copies", "data set", "tuning", "loop"), PREPARING),
    **dict.fromkeys(("callbacks", "second iterator", "batch", "pipeline", "iterator"), PREPARING),
    # from one layer of software to the next, and from one operation to the next
    **dict.fromkeys(("Python", "finding the graph", "model", ENTERING), HANDING_OVER),
    **dict.fromkeys((HAND_OVER, DISPATCH), HANDING_OVER),
}
