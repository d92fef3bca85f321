import dlpark
import numpy as np

report = dlpark.check(np.zeros((4, 6), np.float32)[:, ::-2])
print(report.subject)
for fault in report:
    print(fault.severity, fault.rule, fault.field, fault.value)
if not report:                              # falsy when a rule is broken; what is only misread by somebody is not
    raise SystemExit(str(report))
