"""The hosts of a fleet, for ReFrame. Copy this file, edit the lists, and give it as `-C FILE`."""

# Over SSH, without a shared file system: a name, and what `ssh` needs, the host last.
OVER_SSH = {
    "node1": ["node1.example.org"],
    "node2": ["-p 2222", "-i ~/.ssh/bench", "me@192.0.2.7"],
}
# Through Slurm, from where `sbatch` works: a name, and what it needs.
THROUGH_SLURM = {
    "epyc": ["--partition=cpu", "--constraint=epyc"],
    "gpu8": ["--partition=gpu", "--gres=gpu:8"],
}
# This machine itself.
HERE = ["here"]

_PATIENCE = ["-o ConnectTimeout=20", "-o ServerAliveInterval=15", "-o ServerAliveCountMax=4"]


def _partition(name: str, scheduler: str, launcher: str, access: list[str]) -> dict[str, object]:
    return {
        "name": name,
        "scheduler": scheduler,
        "launcher": launcher,
        "access": access,
        "environs": ["host"],
        "max_jobs": 1,  # two measurements at once would disturb each other
        "extras": {},  # of this host alone: {"python": "python3.12"}
    }


site_configuration = {
    "systems": [
        {
            "name": "fleet",
            "hostnames": [".*"],
            "prefix": "fleet/work",
            "partitions": [
                *(_partition(name, "local", "local", []) for name in HERE),
                *(_partition(n, "local", "ssh", _PATIENCE + to) for n, to in OVER_SSH.items()),
                *(_partition(n, "slurm", "local", to) for n, to in THROUGH_SLURM.items()),
            ],
        }
    ],
    "environments": [{"name": "host"}],
}
