"""A few records of every format that readers know, written as the formats' own documentation has them."""

from __future__ import annotations

import json
from typing import Any

SWF = b"""; Version: 2.2
; MaxProcs: 64
; UnixStartTime: 1000
1 0 10 100 4 -1 512000 4 600 1048576 1 1 1 -1 1 1 -1 -1
2 5 20 200 8 -1 -1 8 600 -1 1 2 1 -1 1 1 -1 -1
3 9 -1 300 16 -1 2048 16 900 -1 1 1 1 -1 2 1 -1 -1
"""

SACCT = b"""JobID|JobName|User|Partition|Submit|Eligible|Start|End|Elapsed|ReqTRES|AllocTRES|State|Timelimit
101|train|ann|gpu|2024-03-01T00:00:00|2024-03-01T00:00:00|2024-03-01T00:01:00|2024-03-01T01:01:00|01:00:00|\
billing=4,cpu=4,gres/gpu=8,mem=16G,node=1|billing=4,cpu=4,gres/gpu:h200=8,gres/gpu=8,mem=16G,node=1|COMPLETED|02:00:00
101.batch|batch|||2024-03-01T00:01:00|2024-03-01T00:01:00|2024-03-01T00:01:00|2024-03-01T01:01:00|01:00:00||\
cpu=4,mem=16G,node=1|COMPLETED|
102|post|bob|cpu|2024-03-01T00:00:10|2024-03-01T00:10:00|2024-03-01T00:11:00|2024-03-01T00:12:00|00:01:00|\
billing=32,cpu=32,mem=500M,node=2|billing=32,cpu=32,mem=500M,node=2|TIMEOUT|00:01:00
103_7|sweep|bob|cpu|2024-03-01T00:00:20|2024-03-01T00:00:20|2024-03-01T00:00:30|2024-03-01T00:00:40|00:00:10|\
billing=1,cpu=1,mem=1.50G,node=1|billing=1,cpu=1,mem=1.50G,node=1|FAILED|UNLIMITED
104+0|mix|ann|gpu|2024-03-01T00:00:30|2024-03-01T00:00:30|2024-03-01T00:02:30|2024-03-01T00:04:10|00:01:40|\
cpu=2,gres/gpu=1,mem=4G,node=1|cpu=2,gres/gpu:a100=1,mem=4G,node=1|COMPLETED|01:00:00
104+1|mix|ann|cpu|2024-03-01T00:00:30|2024-03-01T00:00:30|2024-03-01T00:02:30|2024-03-01T00:05:00|00:02:30|\
cpu=64,mem=8G,node=2|cpu=64,mem=8G,node=2|COMPLETED|01:00:00
105|again|ann|cpu|2024-03-01T00:01:00|2024-03-01T00:01:00|2024-03-01T00:02:00|2024-03-01T00:03:00|00:01:00|\
cpu=8,mem=1G,node=1|cpu=8,mem=1G,node=1|NODE_FAIL|01:00:00
105|again|ann|cpu|2024-03-01T00:03:00|2024-03-01T00:05:00|2024-03-01T00:06:00|2024-03-01T00:08:00|00:02:00|\
cpu=8,mem=1G,node=1|cpu=8,mem=1G,node=1|COMPLETED|01:00:00
105|again|ann|cpu|2024-03-01T00:03:00|2024-03-01T00:05:00|2024-03-01T00:06:00|2024-03-01T00:08:00|00:02:00|\
cpu=8,mem=1G,node=1|cpu=8,mem=1G,node=1|COMPLETED|01:00:00
"""

XDMOD = b"""4103947|4103947|ub-hpc|general|normal|cse|users|100|ann|1001|2024-03-01T00:00:00|2024-03-01T00:00:00|\
2024-03-01T00:05:00|2024-03-01T00:15:00|00:10:00|0:0|COMPLETED|2|32|32|187000M|cpu=32,mem=374000M,node=2|\
billing=32,cpu=32,mem=374000M,node=2|3-00:00:00|cpn-f16-[03-04]|run|1
4103948|4103948|ub-hpc|general|normal|cse|users|100|bob|1002|2024-03-01T00:01:00|2024-03-01T00:01:00|\
2024-03-01T00:02:00|2024-03-01T00:03:00|00:01:00|0:0|COMPLETED|1|8|8|8G|cpu=8,mem=8G,node=1|\
billing=8,cpu=8,mem=8G,node=1|01:00:00|cpn-f16-05|test
"""

PBS = b"""02/11/2026 20:11:52;Q;2281314.pbs;queue=htc
02/11/2026 20:12:16;S;2281314.pbs;user=ann group=csg jobname=qcmd queue=htc ctime=1770865912 qtime=1770865912
02/11/2026 20:12:21;E;2281314.pbs;user=ann group=csg account="SCSG 0001" project=_pbs_project_default jobname=qcmd \
queue=htc ctime=1770865912 qtime=1770865912 etime=1770865912 start=1770865936 exec_host=crhtc65/24 \
exec_vnode=(crhtc65:ncpus=1:mem=10485760kb) Resource_List.mem=10gb Resource_List.ncpus=1 Resource_List.ngpus=0 \
Resource_List.nodect=1 Resource_List.select=1:ncpus=1:mem=10GB Resource_List.walltime=01:00:00 session=0 \
end=1770865941 Exit_status=0 resources_used.walltime=00:00:01 run_count=1
02/11/2026 20:16:47;E;2281981.pbs;user=bob group=csg account="A" jobname=two queue=gpu ctime=1770866179 \
qtime=1770866179 etime=1770866189 start=1770866202 exec_host=g1/0*8+g2/0*8 Resource_List.mem=20gb \
Resource_List.ncpus=16 Resource_List.ngpus=4 Resource_List.nodect=2 Resource_List.select=2:ncpus=8:ngpus=2:mem=10GB \
Resource_List.walltime=01:00:00 end=1770866302 Exit_status=0 resources_used.walltime=00:01:40
08/26/2014 17:08:04;E;11923[].napali;user=dan group=company queue=batch ctime=1409094464 qtime=1409094464 end=1409094484
08/26/2014 17:08:04;E;11923[3].napali;user=dan group=company jobname=STDIN queue=batch ctime=1770866464 \
qtime=1770866464 etime=1770866464 start=1770866470 exec_host=napali/0-5+dev/0-5 Resource_List.neednodes=2:ppn=6 \
Resource_List.nodect=2 Resource_List.nodes=2:ppn=6 Resource_List.walltime=60 end=1770866484 Exit_status=0
08/26/2014 17:08:05;E;11924.napali;user=dan group=company queue=batch ctime=1770866464 qtime=1770866464 etime=0 \
start=0 Resource_List.nodes=1:ppn=4 end=1770866484 Exit_status=271
"""

LSF = (
    b'"JOB_FINISH" "10.108" 1644826549 386 1501 33554434 1 1644826545 0 0 1644826546 "ann" "normal" "" "" "" "login" '
    b'"/root" "" "" "" "1644826545.386" 0 1 "n1" 64 100.0 "" "/bin/sleep 3" 0.004997 0.006155 3748 0 -1 0 0 436 4 0 '
    b'928 0 -1 0 0 0 19 2 -1 "" "default" 0 1 "" "" 0 2048 0 "" "" "" ""\n'
    b'"JOB_FINISH" "9.11" 1644826949 387 22025 33882739 32 1644826550 0 0 1644826649 "bob" "regular" '
    b'"span[ptile=16] rusage[ngpus_physical=2.00]" "" "" "login" "/scratch" "" "%J.out" "%J.err" "1644826550.387" 1 '
    b'"pool" 2 "16*h1" "16*h2" 64 60.0 "two" "#BSUB -R ""span[ptile=16]"" # run; mpirun x" -1.000000 '
    b"-1.000000 -1 -1 -1 "
    b'-1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 "" "physics" 0 32 "" "" 4 4096 0 "" "" "" ""\n'
    b'"JOB_FINISH" "10.108" 1644827000 388 1501 33554434 2 1644826600 0 0 0 "ann" "normal" "" "" "" "login" "/root" "" '
    b'"" "" "1644826600.388" 0 0 32 100.0 "" "/bin/sleep 3" -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 '
    b'"" "default" 0 2 "" "" 0 0 0 "" "" "" ""\n'
    b'"EVENT_ADRSV_FINISH" "10.108" 1644827100 1644827000 "user" "x"\n'
)

SGE = b"""# Version: 8.1.9
all.q:wn5:users:ann:STDIN:352:sge:0:1254769859:1254812685:1254812785:0:0:100:0.1:0.2:0.0:0:0:0:0:14232:0:0:0.0:0:0:0:0:\
135:95:NONE:defaultdepartment:NONE:1:0:0.0:0.0:0.0:-q all.q -l h_rt=3600:0.0:NONE:0.0:0:0
all.q:wn6:users:bob:mpi:353:sge:0:1254769900:1254812700:1254813000:0:0:300:0.1:0.2:0.0:0:0:0:0:14232:0:0:0.0:0:0:0:0:\
135:95:phys:defaultdepartment:mpi:16:4:0.0:0.0:0.0:-pe mpi 16:0.0:NONE:0.0:0:0
all.q:wn7:users:bob:mpi:353:sge:0:0:1254812700:1254813000:0:0:300:0.1:0.2:0.0:0:0:0:0:14232:0:0:0.0:0:0:0:0:\
135:95:phys:defaultdepartment:mpi:16:4:0.0:0.0:0.0:-pe mpi 16:0.0:1.wn7:0.0:0:0
all.q:wn7:users:bob:no:354:sge:0:1254769910:0:0:100:137:0:0.1:0.2:0.0:0:0:0:0:14232:0:0:0.0:0:0:0:0:\
135:95:phys:defaultdepartment:NONE:1:0:0.0:0.0:0.0:NONE:0.0:NONE:0.0:0:0
"""

EVENTS = b"""-dt          10.50 -e submit_batch_job | -sim-walltime   84805.00 --uid=user001 -J jobid_00001 -N    \
1 -n     32 \
-t 3-00:00:00 -q general -p general --mem=500G pseudo.job
-dt 871 -e submit_batch_job | -sim-walltime 60 -J jobid_1011 --uid=user4 -t 00:30:00 -n 24 --ntasks-per-node=12 -A a2 \
-p normal -q normal --gres=gpu:a100:2 --mem=500000 --constraint=CPU-N pseudo.job
-dt 900 -e submit_batch_job | -jid 7 -sim-walltime 30 --uid=user5 -t 30 -n 4 --cpus-per-task=2 -p normal pseudo.job
-dt 950 -e cancel_job | -jid 7
"""

HTCONDOR = b"""{"ClusterId": 101, "ProcId": 0, "QDate": 1700000100, "JobStartDate": 1700000110, "JobCurrentStartDate": \
1700000110, "CompletionDate": 1700000150, "RemoteWallClockTime": 40.0, "JobStatus": 4, "RequestCpus": 1, \
"RequestMemory": 2048, "Owner": "ann"}
{"ClusterId": 102, "ProcId": 3, "QDate": 1700000200, "JobStartDate": 1700000260, "JobCurrentStartDate": 1700000300, \
"CompletionDate": 1700000400, "RemoteWallClockTime": 130.0, "JobStatus": 4, "RequestCpus": 4, "CpusProvisioned": 8, \
"RequestGPUs": 2, "RequestMemory": "ifthenelse(MemoryUsage =!= undefined, MemoryUsage, 1)", "Owner": "bob", \
"AcctGroup": "cms"}
{"ClusterId": 103, "ProcId": 0, "QDate": 1700000210, "JobStatus": 3, "RemoteWallClockTime": 0.0, "RequestCpus": 1}
{"ClusterId": 104, "ProcId": 0, "QDate": 1700000220, "JobStatus": 5, "RequestCpus": 1}
"""

PHILLY = json.dumps(
    [
        {
            "status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_10258", "user": "ce2f4c",
            "submitted_time": "2017-10-07 01:11:39",
            "attempts": [
                {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
                 "detail": [{"ip": "m47", "gpus": [f"gpu{i}" for i in range(8)]}]},
                {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 06:53:12",
                 "detail": [{"ip": "m412", "gpus": [f"gpu{i}" for i in range(8)]}]},
            ],
        },
        {
            "status": "Killed", "vc": "ee9e8c", "jobid": "application_1506638472019_10259", "user": "ce2f4c",
            "submitted_time": "2017-10-07 01:20:00",
            "attempts": [{"start_time": "2017-10-07 01:20:10", "end_time": "2017-10-07 01:20:40",
                          "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}]}],
        },
        {"status": "Killed", "vc": "6214e9", "jobid": "x", "user": "b", "submitted_time": "2017-10-07 01:30:00",
         "attempts": []},
    ],
    indent=1,
).encode()  # fmt: skip


def _workload(name: str, pods: int, requests: dict[str, str], conditions: dict[str, str], usage: Any = None) -> Any:
    status: dict[str, Any] = {
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": when} for kind, when in conditions.items()
        ]
    }
    if usage:
        sets = [{"name": "main", "count": pods, "resourceUsage": usage}]
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": sets}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a", "creationTimestamp": "2024-03-19T20:00:00Z", "uid": name},
        "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": pods, "template": {"spec": {"containers": [
            {"name": "c", "resources": {"requests": requests}}]}}}]},
        "status": status,
    }  # fmt: skip


KUEUE = json.dumps(
    {
        "apiVersion": "v1", "kind": "List",
        "items": [
            _workload("a", 2, {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"},
                      {"QuotaReserved": "2024-03-19T20:01:00Z", "Admitted": "2024-03-19T20:02:00Z",
                       "Finished": "2024-03-19T20:12:00Z"},
                      {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "2"}),
            _workload("b", 3, {"cpu": "2500m", "memory": "512Mi"},
                      {"QuotaReserved": "2024-03-19T20:00:30Z", "Finished": "2024-03-19T20:01:30Z"}),
            _workload("c", 1, {"cpu": "1"}, {"Admitted": "2024-03-19T20:02:00Z"}),
            _workload("d", 1, {"cpu": "1"}, {}),
        ],
    }
).encode()  # fmt: skip

HELIOS = b"""job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vcA,8,64,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 01:01:00,3600,60
2,u2,vcB,0,4,1,FAILED,2020-04-01 00:00:10,2020-04-01 00:00:10,2020-04-01 00:00:40,30,0
"""

ACME = b"""job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
d1,u1,2,16,128,Pretrain,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:02:00+08:00,2023-03-01 01:02:00+08:00,\
3600,120,57600
"""

OPENB = b"""name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,\
scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0
openb-pod-0001,6000,12288,1,460,,LS,Running,427061,12902960,427061
openb-pod-0017,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437500
openb-pod-0005,20000,65536,0,0,,LS,Succeeded,2759674,12902960,2759676
openb-pod-0099,4000,4096,1,500,,LS,Pending,2759674,2759999,
"""

PAI = b"""4b3f04b66a525d2df903eb16,tensorflow,2,Terminated,100.0,400.0,600.0,29.296875,50.0,MISC
cd2f04b66a525d2df903eb16,worker,1,Running,120.0,,600.0,29.0,100.0,T4
7a9f04b66a525d2df903eb16,ps,3,Failed,130.0,190.0,100.0,10.0,,
"""

EAGLE = b"""job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,mem_req,submit_time,\
start_time,\
end_time,run_time,state
532209,u14,a3,p1,normal,172800.0,10,360,0,0.0,2019-01-01 08:55:55,2019-01-01 08:55:56,2019-01-02 12:39:41,99825.0,\
COMPLETED
532300,u15,a3,p9,normal,259200.0,1,1,2,0.0,2019-01-01 09:40:17,2019-01-01 09:40:17,2019-01-01 09:40:23,6.0,FAILED
"""

COST = b"""job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,resource_request,\
ineligible_pend_time,\
eligible_time,requeue_time,wait_time,run_time,exit_status
281,20,1.4697265625,20,2022-02-03T21:33:15,2022-02-03T21:33:45,2022-02-03T21:33:58,,0:00:10,2022-02-03T21:33:25,\
0:00:00,\
0:00:20,0:00:13,0
"""

CSV = b"submit,need,service,wait,queue\n0,1,10,0,a\n5,4,20,3,b\n7,2,5,,a\n"

# Reader -> a file of it, and what must be said to read it.
RECORDS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "swf": (SWF, {}),
    "sacct": (SACCT, {"unit": "cpus"}),
    "pbs": (PBS, {"unit": "cpus"}),
    "lsf": (LSF, {"unit": "cpus"}),
    "sge": (SGE, {}),
    "slurm-events": (EVENTS, {"unit": "nodes"}),
    "htcondor": (HTCONDOR, {"unit": "cpus"}),
    "philly": (PHILLY, {}),
    "kueue": (KUEUE, {"unit": "pods"}),
    "helios": (HELIOS, {"unit": "cpus"}),
    "openb": (OPENB, {"unit": "gpu_milli"}),
    "pai": (PAI, {"unit": "cpu_percent"}),
    "csv": (CSV, {}),
}
