# SPDX-License-Identifier: MIT
"""slurm: a Slurm cluster of one node on the loopback interface, with its own munged, slurmctld and slurmd, all in a scratch folder."""
import os
import shutil
import socket
import subprocess
import time

CONF = """
ClusterName=fredtest
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1,defer_batch=0
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(n):
    held = [socket.socket() for _ in range(n)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def missing():
    """The programs that it needs and this host has not."""
    return [p for p in ("munged", "slurmctld", "slurmd", "sbatch", "squeue") if not shutil.which(p, path=PATH)]


PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class Cluster:
    def __init__(self, folder, cpus, deadline):
        self.dir, self.deadline = folder, deadline
        self.host = socket.gethostname().split(".")[0]
        self.children = []
        for name in "", "state", "spool":
            os.makedirs(os.path.join(folder, name), mode=0o755, exist_ok=True)
        with open(self.path("slurm.conf"), "w") as f:
            f.write(CONF.format(host=self.host, dir=folder, ports=free_ports(2), cpus=cpus))
        with open(self.path("cgroup.conf"), "w") as f:
            f.write("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")  # none is used: slurmd only wants a name that it knows
        with open(self.path("munge.key"), "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(self.path("munge.key"), 0o400)
        self.env = dict(os.environ, PATH=PATH, SLURM_CONF=self.path("slurm.conf"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def spawn(self, *argv):
        with open(self.path(argv[0] + ".out"), "w") as f:
            self.children.append(subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=f, stderr=f))

    def start(self):
        self.spawn("munged", "--foreground", "--force", "--socket", self.path("munge.sock"), "--key-file", self.path("munge.key"),
                   "--pid-file", self.path("munge.pid"), "--log-file", self.path("munge.log"), "--seed-file", self.path("munge.seed"))
        self.wait(lambda: os.path.exists(self.path("munge.sock")), "munged")
        self.spawn("slurmctld", "-D", "-f", self.path("slurm.conf"))
        self.spawn("slurmd", "-D", "-f", self.path("slurm.conf"), "-N", self.host)
        self.wait(lambda: "idle" in self.run("sinfo", "-h", "-o", "%T"), "an idle node")

    def run(self, *argv, env=None):
        r = subprocess.run(argv, env=dict(self.env, **(env or {})), capture_output=True, text=True, timeout=self.deadline)
        return r.stdout

    def wait(self, ready, what):
        end = time.monotonic() + self.deadline
        while not ready():
            if time.monotonic() > end:
                raise AssertionError("no %s: %s" % (what, self.logs()))
            for child in self.children:
                if child.poll() is not None:
                    raise AssertionError("%s ended: %s" % (child.args[0], self.logs()))

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.dir)):
            if name.endswith((".log", ".out")):
                with open(self.path(name), errors="replace") as f:
                    text += "== %s\n%s" % (name, f.read()[-1500:])
        return text

    def stop(self):
        for child in reversed(self.children):
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
