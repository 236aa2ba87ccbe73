#!/usr/bin/env python3
"""Verify a folder of Usher's event log as docs/events.md describes it: verify.py FOLDER. Exits with 1 if it isn't as it was written."""
import hashlib, json, os, re, sys

folder, bad, last, named = sys.argv[1], [], {}, {}  # last: session -> [seq, hashes that may be followed]
names = sorted(n for n in os.listdir(folder) if re.fullmatch(r"\d{8}T\d{12}Z-[0-9a-f]{8}-\d{4}\.jsonl", n))
stat = {n: os.stat(os.path.join(folder, n)) for n in names}
sealed = {n: not stat[n].st_mode & 0o200 for n in names}

for name in names:
    with open(os.path.join(folder, name), "rb") as file:
        for number, line in enumerate(file, 1):
            at = f"{name}:{number}"
            if not line.endswith(b"\n"):
                if sealed[name]: bad.append(f"{at}: the last line of a finished file is cut off")
                continue
            body, _, tail = line.rpartition(b',"hash":"')
            digest = hashlib.sha256(body).hexdigest()
            try:
                event = json.loads(line.decode())
                seq, session, prev = int(event["seq"]), str(event["session"]), event.get("prev")
                kind, data = event["type"], event["data"]
            except (ValueError, KeyError, TypeError, AttributeError):
                bad.append(f"{at}: no event")
                continue
            seen = last.setdefault(session, [0, {None}])
            if tail != f'{digest}"}}\n'.encode():
                bad.append(f"{at}: doesn't match its hash")
                if seq == seen[0] + 1: last[session] = [seq, {digest, event.get("hash")}]
                continue
            if seq != seen[0] + 1: bad.append(f"{at}: event {seq} of {session} where {seen[0] + 1} belongs")
            elif prev not in seen[1]: bad.append(f"{at}: doesn't follow event {seen[0]} of {session}")
            if seq > seen[0]: last[session] = [seq, {digest}]
            else: seen[1].add(digest)
            if kind != "log.checkpoint": continue
            named.update((f["name"], f["size"]) for f in data.get("files", []))
            for head in data.get("heads", []):
                seq, hashes = last.get(head["session"], [0, set()])
                if seq != head["seq"] or head["hash"] not in hashes:
                    bad.append(f"{at}: {head['session']} ends at {seq}, not as the checkpoint says at {head['seq']}")

for name, size in named.items():
    if name not in stat: bad.append(f"{name}: missing")
    elif stat[name].st_size != size: bad.append(f"{name}: {stat[name].st_size} bytes, not {size} as the checkpoint says")
for name in names:
    if sealed[name] and name not in named: bad.append(f"{name}: finished, but no checkpoint names it: a later file is missing or cut")
    for before in range(int(name[-10:-6])):
        if f"{name[:-10]}{before:04}.jsonl" not in stat: bad.append(f"{name}: file {before} of its process is missing")
print("\n".join(bad) or f"{len(names)} files, {len(last)} sessions: as they were written")
sys.exit(1 if bad else 0)
