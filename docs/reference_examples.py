"""The examples of docs/reference.md, one after the other; a test runs them all. `# %%` begins the example of a name."""

# ruff: noqa: B018, E402
# %% (first)
from pathlib import Path

import loynes

model = loynes.Model(
    name="small",
    servers=4,
    classes=[
        loynes.JobClass(name="one", need=1, probability=0.7, service=loynes.Exponential(mean=1.0)),
        loynes.JobClass(name="all", need=4, probability=0.3, service=loynes.Erlang(phases=2, mean=0.5)),
    ],
)
# Four hundred jobs, one every ten minutes, that ran for a quarter of an hour on one server or on two.
lines = ["submit,need,service,requested_time", *(f"{600 * n},{1 + n % 2},900,1800" for n in range(400))]
Path("jobs.csv").write_text("\n".join(lines), encoding="utf-8")

# %% load
loynes.load("one-or-all")  # built in; or a path such as "cluster.toml"
loynes.load(model, ["servers=8", "classes.all.need=8"])  # changed in passing

# %% builtin_names
assert "five-class-exponential" in loynes.builtin_names()

# %% from_scipy
import scipy.stats

law = loynes.from_scipy(scipy.stats.gamma(2.0, scale=3.0))
assert abs(law.mean - 6.0) < 1e-9

# %% check
check = loynes.check(model)
check.methods  # {"stability": "yes", "sandwich": "yes", ...}
print(check.summary)

# %% stability
found = loynes.stability(model, precision=0.02)
found.threshold  # Estimate(estimate=..., low=..., high=...)
found.hol_loss_saturated  # servers that idle, when the line never ends

# %% evaluate
waits = loynes.evaluate(model, load=0.7, precision=0.1)
waits.overall.wait.mean.estimate
waits.classes["all"].wait.p95.high
waits.system.hol_loss

# %% exact
exact = loynes.exact(model, load=0.7)
assert waits.overall.wait.mean.low / 1.5 < exact.mean_wait < waits.overall.wait.mean.high * 1.5

# %% certify
certified = loynes.certify(model, load=0.7)
if certified:  # there is a certificate
    certified.certificate.theta

# %% sample
loynes.sample(model, "samples.csv", load=0.7, samples=100)

# %% sweep
sweep = loynes.sweep(model, loads=[0.3, 0.6], samples=5000)
sweep.tidy.to_csv()  # one number a row

# %% plan
plan = loynes.plan(model, slo=["mean(wait) <= 2"], rate=1.5)
plan.answer  # servers
plan.statement

# %% plan_partition
large = loynes.load(model, ["servers=16"])
loynes.plan_partition(large, rate=5.0, jobs=500, replicas=6).difference

# %% compare
other = loynes.load(model, ["classes.all.need=2"])
loynes.compare(model, other, rate=1.0, samples=5000).overall

# %% compare_policies
policies = loynes.compare_policies(model, ["fcfs", "easy"], rates=[1.0], jobs=500, replicas=6, limits=False)
print(policies.summary)

# %% advise
advice = loynes.advise(model, rate=1.0, policies=["easy", "first-fit"], jobs=500, replicas=6)
print(advice.summary)

# %% sensitivity
loynes.sensitivity(model, load=0.5, samples=3000, replicas=16).statement

# %% simulate
loynes.simulate(model, policy="easy", rate=1.0, jobs=500, replicas=6).overall.wait.mean

# %% read_trace
log = loynes.read_trace("jobs.csv")
assert log.submit[1] == 600.0
loynes.read_trace({"submit": [0, 60], "need": [2, 2], "service": [90, 30]})  # or arrays, or a data frame

# %% replay
replayed = loynes.replay("jobs.csv", servers=2, policy="easy")
replayed.overall.wait.mean

# %% replay_cases
cases = loynes.replay_cases("jobs.csv", policies=["fcfs", "easy"], servers=[2, 3])
[case.name for case in cases.cases]

# %% fit
fitted = loynes.fit("jobs.csv", servers=2, law="exponential", compare=False)
fitted.model.classes

# %% eta
import json

now = [
    {"id": "1", "state": "RUNNING", "need": 2, "elapsed": 600, "limit": 3600},
    {"id": "2", "state": "PENDING", "need": 4, "limit": 3600, "submit": 0},
]
Path("now.json").write_text(json.dumps(now), encoding="utf-8")
loynes.eta("now.json", servers=4, draws=100).jobs

# %% eta_backtest
loynes.eta_backtest(backtest="jobs.csv", servers=2, instants=5, draws=20).summary

# %% resume
loynes.stability(model, precision=0.05, folder="run")
assert loynes.resume("run").threshold.low > 0  # read: the run was complete

# %% read_result
waits.save("waits.json")
assert loynes.read_result("waits.json") == waits

# %% report
page = loynes.report(waits, "waits.html")

# %% result_schema
assert "threshold" in loynes.result_schema("stability")["properties"]

# %% Model
loynes.Model(resources={"cpu": 64, "gpu": 8}, classes=[{"need": {"gpu": 1}, "probability": 1, "service": law}])

# %% JobClass
loynes.JobClass(name="training", need=8, probability=0.1, service=loynes.Lognormal(mean=3600.0, cv=2.0))

# %% Nodes
loynes.Nodes(count=16, has={"gpu": 4, "cpu": 64})

# %% Quota
loynes.Quota(classes=["training"], limit={"gpu": 32})

# %% Estimate
value = loynes.Estimate(estimate=2.0, low=1.9, high=2.1)
assert float(value) == 2.0
assert str(value) == "2.00 ±0.10"
