"""The kinds and names of the experiments of `why`, which result files hold."""

from typing import Literal

Kind = Literal["call", "way", "after itself", "hand-over", "operations", "stage", "told"]

COUNTS = (1, 8, 64)
#: The call with one more core for its process; timed after all else.
TWO_CORES = "on two cores"
#: The call of the whole network as it was built for the experiments.
AS_BUILT = "as built for the experiments"
NOTHING = "nothing"
ENTERING = "entering"
