"""What runs inside a sandbox, or at its edge: the standard library is all it needs.

The text of these modules is sent to an interpreter that has nothing else of rewardhub
(`rewardhub.builtin.sandboxes.bundle`), so they import each other and the standard library only.

```text
host ── frames ── warden ── descriptors ── zygote ── clone ── job
```

The *warden* is trusted: it keeps the limits, and speaks with the host. The *zygote* has the
interpreter warm, and forks one *job* at a time. What a job may know never passes through the memory
of the zygote, since each job inherits that: it comes in files that only the job reads.
"""
